"""Seconds of every aggregator on n rows of d numbers, beside ByzFL's, or beside a few lines of NumPy.

    pip download --no-deps byzfl && unzip byzfl-*.whl -d FOLDER    # its aggregators need torch and numpy only
    python benchmarks/aggregators.py --byzfl FOLDER
    python benchmarks/aggregators.py --only krum median --turns 3

Both are given the same list of float32 rows and take turns; a line has medians. fedward computes in double
precision, and so does what stands here in NumPy; ByzFL in single precision. What is not in ByzFL, or does not
fit into memory there (its nearest-neighbour mixing holds n (n - f) d numbers), stands beside NumPy.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation import (
    AGGREGATORS,
    Bucketing,
    Bulyan,
    CentredClipping,
    CoordinateMedian,
    DivideAndConquer,
    Flame,
    FLDetector,
    FLTrust,
    FoolsGold,
    GeometricMedian,
    Krum,
    Mean,
    MultiKrum,
    NearestNeighbourMixing,
    RobustLearningRate,
    SignGuard,
    TrimmedMean,
    WatchingRule,
    WeightedMean,
)
from fedward.core.types import Watched

Rows = list[Tensor]
Run = Callable[[Rows], Any]


def watching(rule: WatchingRule, rounds: int = 1) -> Run:
    """The last of some rounds of a rule that remembers; the others are not timed."""
    known: list[Any] = []

    def run(rows: Rows) -> Any:
        parameters = torch.zeros_like(rows[0])
        if not known:
            memory = rule.first_memory(parameters)
            for round in range(rounds - 1):
                memory = rule.combine_watched(rows, watched(round, memory, parameters + round, len(rows)))[1]
            known.append(memory)
        now = watched(rounds - 1, known[0], parameters + rounds, len(rows))
        return rule.combine_watched(rows, now)[0]

    return run


def watched(round: int, memory: Any, parameters: Tensor, users: int) -> Watched:
    rng = np.random.default_rng(round)
    return Watched(round=round, users=tuple(range(users)), parameters=parameters, memory=memory, rng=rng)


def streamed(aggregator: Any) -> Run:
    """A mean takes one row after the other."""

    def run(rows: Rows) -> Any:
        total = aggregator.init(rows[0])
        for row in rows:
            total = aggregator.add(total, row, 1)
        return aggregator.finish(total)

    return run


def numpy_of(compute: Callable[[Any], Any]) -> Run:
    """A few lines of NumPy on the rows as one array; stacking them counts, as it does in ByzFL."""
    return lambda rows: compute(np.stack([row.numpy() for row in rows], dtype=np.float64))


def distances(x: Any) -> Any:
    squares = (x * x).sum(1)
    return np.maximum(squares[:, None] + squares - 2 * x @ x.T, 0)


def cosines(x: Any) -> Any:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    return unit @ unit.T


def bulyan(f: int) -> Callable[[Any], Any]:
    def compute(x: Any) -> Any:
        squared, left = distances(x), list(range(len(x)))
        picked = []
        while len(picked) < len(x) - 2 * f:
            among = np.sort(squared[np.ix_(left, left)], axis=1)[:, 1 : max(2, len(left) - f - 1)]
            picked.append(left.pop(int(among.sum(1).argmin())))
        chosen = x[picked]
        order = np.argsort(np.abs(chosen - np.median(chosen, axis=0)), axis=0)[: len(picked) - 2 * f]
        return np.take_along_axis(chosen, order, axis=0).mean(0)

    return compute


def mixed(x: Any, f: int) -> Any:
    nearest = np.argsort(distances(x), axis=1)[:, : len(x) - f]
    weights = np.zeros((len(x), len(x)), dtype=x.dtype)
    np.put_along_axis(weights, nearest, 1 / (len(x) - f), axis=1)
    return (weights @ x).mean(0)


def divide_and_conquer(x: Any, f: int) -> Any:
    drawn = x[:, np.random.default_rng(0).choice(x.shape[1], min(10_000, x.shape[1]), replace=False)]
    centred = drawn - drawn.mean(0)
    scores = (centred @ np.linalg.svd(centred, full_matrices=False)[2][0]) ** 2
    return x[np.argsort(scores)[: len(x) - f]].mean(0)


def fl_trust(x: Any) -> Any:
    norms = np.linalg.norm(x, axis=1)
    trust = np.maximum(0, x[1:] @ x[0] / norms[1:] / norms[0])
    return norms[0] * (trust / norms[1:]) @ x[1:] / trust.sum()


def fools_gold(x: Any) -> Any:
    history = np.zeros_like(x) + x
    weights = 1 - (cosines(history) - 2 * np.eye(len(x))).max(1)
    return np.clip(weights, 0, 1) @ x / len(x)


def flame(x: Any) -> Any:
    near = np.argsort(cosines(x).sum(1))[len(x) // 2 :]
    norms = np.linalg.norm(x, axis=1)
    bound = np.median(norms)
    found = np.minimum(1, bound / norms[near]) @ x[near] / len(near)
    return found + 0.001 * bound * np.random.default_rng(0).standard_normal(x.shape[1])


def sign_guard(x: Any) -> Any:
    norms, drawn = (
        np.linalg.norm(x, axis=1),
        np.random.default_rng(0).choice(x.shape[1], x.shape[1] // 10, False),
    )
    signs = np.sign(x[:, drawn])
    _ = [(signs == sign).mean(1) for sign in (-1, 0, 1)]
    return np.minimum(1, np.median(norms) / norms) @ x / len(x)


def fl_detector(x: Any) -> Any:
    _ = np.linalg.norm(x - (x[::-1] - x[0]), axis=1)  # the rows of a round before, and how the model moved
    return x.mean(0)


def pairs(f: int) -> dict[str, tuple[Run, str, Run | None]]:
    """For each aggregator how it runs here, ByzFL's name and arguments, and NumPy where there is none."""
    return {
        "mean": (streamed(Mean(expected_cohort=100.0)), "Average()", None),
        "weighted_mean": (streamed(WeightedMean()), "", numpy_of(lambda x: np.average(x, axis=0))),
        "krum": (Krum(malicious=f).combine, f"Krum({f})", None),
        "multi_krum": (MultiKrum(malicious=f).combine, f"MultiKrum({f})", None),
        "median": (CoordinateMedian().combine, "Median()", None),
        "trimmed_mean": (TrimmedMean(trimmed=f).combine, f"TrMean({f})", None),
        "geometric_median": (GeometricMedian().combine, "GeometricMedian()", None),
        "bulyan": (Bulyan(malicious=f).combine, "", numpy_of(bulyan(f))),
        "centred_clipping": (watching(CentredClipping(radius=100.0)), "CenteredClipping()", None),
        "nearest_neighbour_mixing": (
            NearestNeighbourMixing(rule=TrimmedMean(trimmed=0), malicious=f).combine,
            "",
            numpy_of(lambda x: mixed(x, f)),
        ),
        "bucketing": (Bucketing(rule=TrimmedMean(trimmed=0)).combine, "Bucketing(2)", None),
        "divide_and_conquer": (
            watching(DivideAndConquer(malicious=f)),
            "",
            numpy_of(lambda x: divide_and_conquer(x, f)),
        ),
        "fl_trust": (watching(FLTrust(root=0)), "", numpy_of(fl_trust)),
        "fools_gold": (watching(FoolsGold()), "", numpy_of(fools_gold)),
        "flame": (watching(Flame()), "", numpy_of(flame)),
        "robust_learning_rate": (
            watching(RobustLearningRate(threshold=4)),
            "",
            numpy_of(lambda x: np.where(np.abs(np.sign(x).sum(0)) >= 4, 1, -1) * x.mean(0)),
        ),
        "sign_guard": (watching(SignGuard()), "", numpy_of(sign_guard)),
        "fl_detector": (watching(FLDetector(window=10), rounds=2), "", numpy_of(fl_detector)),
    }


def byzfl_classes(folder: Path | None) -> Any:
    """ByzFL's aggregators and what goes before them, without the rest of it, which needs more packages."""
    if folder is None:
        return None
    package: Any = types.ModuleType("byzfl")
    package.__path__ = [str(folder / "byzfl")]
    sys.modules["byzfl"] = package
    return importlib.import_module("byzfl.aggregators")


def theirs(classes: Any, call: str) -> Run:
    rule = eval(f"classes.{call}", {"classes": classes})
    after = classes.Average() if call.startswith("Bucketing") else lambda found: found
    return lambda rows: after(rule(rows))


def seconds(run: Run, rows: Rows) -> float:
    before = time.perf_counter()
    run(rows)
    return time.perf_counter() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--byzfl", type=Path, help="a folder with ByzFL's package in it")
    parser.add_argument("--only", nargs="*", choices=AGGREGATORS, default=list(AGGREGATORS))
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--numbers", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    classes = byzfl_classes(given.byzfl)
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randn(given.numbers, generator=generator) + 0.1 for _ in range(given.rows)]
    print(f"{given.rows} rows of {given.numbers:,} numbers, {torch.get_num_threads()} threads")
    print("| aggregator | fedward, s | the other, s | ratio | the other |\n| --- | --- | --- | --- | --- |")
    table = pairs(given.rows // 10)
    for name in given.only:
        ours, call, lines = table[name]
        if lines is None and classes is None:
            continue
        other, called = (lines, "NumPy") if lines is not None else (theirs(classes, call), f"ByzFL {call}")
        times: tuple[list[float], list[float]] = ([], [])
        for turn in range(given.turns + 1):
            for place in (0, 1) if turn % 2 else (1, 0):
                times[place].append(seconds((ours, other)[place], rows))
        mine, its = (statistics.median(each[1:]) for each in times)  # the first turn warms up
        print(f"| `{name}` | {mine:.2f} | {its:.2f} | {mine / its:.2f} | {called} |", flush=True)


if __name__ == "__main__":
    main()
