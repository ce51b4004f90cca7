"""Widths and coverage of the confidence bounds, as docs/confidence.md has them.

    python benchmarks/confidence_widths.py

It takes about two minutes on one core and needs nothing but fedward.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedward.certificates.confidence import METHODS, Confidence
from fedward.certificates.replica_scores import Replicas

LAWS: dict[str, tuple[float, ...]] = {
    "votes, mean 0.5": (0.5,),
    "votes, mean 0.9": (0.9,),
    "votes, mean 0.99": (0.99,),
    "votes, mean 1": (1.0,),
    "confidences, mean 0.5, sd 0.22": (2.0, 2.0),
    "confidences, mean 0.9, sd 0.065": (18.0, 2.0),
    "confidences, mean 0.99, sd 0.014": (49.5, 0.5),
}
CHOICES: dict[str, list[float]] = {
    "0.5, 0.5": [0.5, 0.5],
    "0.9, 0.1": [0.9, 0.1],
    "0.36, 0.36, 0.28": [0.36, 0.36, 0.28],
    "0.7, 0.2, 0.1": [0.7, 0.2, 0.1],
    "ten times 0.1": [0.1] * 10,
}
ERROR = 0.1


def drawn(rng: np.random.Generator, law: tuple[float, ...], m: int, trials: int) -> Any:
    if len(law) == 1:
        return (rng.random((m, trials)) < law[0]).astype(float)
    return rng.beta(law[0], law[1], (m, trials))


def widths(error: float, trials: int = 300) -> None:
    """How far the lower bound lies below the average of the replicas."""
    print(f"| replicas | values | {' | '.join(METHODS)} |\n| --- | --- |{' ---: |' * len(METHODS)}")
    for m in (100, 1000):
        for name, law in LAWS.items():
            values = drawn(np.random.default_rng(1), law, m, trials)
            cells = [
                "" if method == "clopper_pearson" and len(law) > 1 else
                f"{(values.mean(axis=0) - bound(values, error, 'lower')).mean():.4f}"
                for method, bound in METHODS.items()
            ]  # fmt: skip
            print(f"| {m} | {name} | {' | '.join(cells)} |")


def coverage(m: int = 200, trials: int = 20_000) -> None:
    """How often in a hundred trials a bound at error 0.1 fails: lower, upper."""
    print(f"| values | {' | '.join(METHODS)} |\n| --- |{' ---: |' * len(METHODS)}")
    for name, law in {"votes, mean 0.005": (0.005,), **LAWS, "confidences, mean 0.01": (0.5, 49.5)}.items():
        values = drawn(np.random.default_rng(2), law, m, trials)
        mean = law[0] if len(law) == 1 else law[0] / sum(law)
        cells = []
        for method, bound in METHODS.items():
            if method == "clopper_pearson" and len(law) > 1:
                cells.append("")
                continue
            low, high = bound(values, ERROR, "lower"), bound(values, ERROR, "upper")
            cells.append(f"{100 * (low > mean).mean():.1f}, {100 * (high < mean).mean():.1f}")
        print(f"| {name} | {' | '.join(cells)} |")


def choices(m: int = 400, trials: int = 4000) -> None:
    """How often in a hundred trials the statement about the class that was chosen fails, at error 0.1."""
    methods = [method for method in METHODS if method != "betting_sequence"]
    print(f"| true means | {' | '.join(methods)} |\n| --- |{' ---: |' * len(methods)}")
    for name, means in CHOICES.items():
        truth = np.array(means)
        votes = np.random.default_rng(3).choice(len(truth), size=(m, trials), p=truth)
        replicas = Replicas(
            scores=(votes[:, :, None] == np.arange(len(truth))).astype(np.uint8),
            numbers=np.arange(m),
            seed=0,
            score="vote",
        )
        cells = []
        for method in methods:
            top, lower, upper = Confidence(looks=(m,), method=method, error=ERROR).bounds(replicas)
            others = np.where(np.arange(len(truth)) == top[:, None], -1.0, truth).max(axis=1)
            cells.append(f"{100 * ((lower > truth[top]) | (upper < others)).mean():.1f}")
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    print(f"Widths, error {0.01 / 12:.2g} (ψ = 0.01, ten classes)\n")
    widths(0.01 / 12)
    print("\nFailures in 100 trials at error 0.1, M = 200: lower, upper\n")
    coverage()
    print("\nFailures in 100 trials with the top class chosen from the same votes, ψ = 0.1, M = 400\n")
    choices()
