"""What audits find for every kind of preset: promised, at least, estimate, trainings and seconds.

    python benchmarks/audits/audit_presets.py --runs 8000

It prints a row of the table in docs/audits.md for each preset. Models are tiny; seconds are those of
one processor.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from fedward.studies.audit.audited_claim import UNCHANGED
from fedward.studies.audit.self_test import SOUND, audit_once, with_changes

DP_SGD: dict[str, Any] = {
    "name": "dp_sgd",
    "learning_rate": 0.1,
    "probability": 0.5,
    "expected_batch": 1.0,
    "steps": 1,
    "noise_multiplier": 1.0,
    "clip_bound": 1.0,
}
ROUNDS = 2
USER = {"noise_multiplier": 1.0}
PRESETS: dict[str, dict[str, Any]] = {
    "user_dp_fedavg": {"algorithm": USER},
    "user_dp_fedavg, every user": {
        "algorithm": USER | {"sampler": {"name": "everyone"}, "noise_multiplier": 1.5}
    },
    "user_dp_fedavg, fixed size": {
        "algorithm": USER | {"sampler": {"name": "fixed_size", "size": 4}, "noise_multiplier": 4.0}
    },
    "user_dp_fedavg, per layer": {
        "model": {"name": "mlp"},
        "algorithm": USER | {"clip": "per-layer"},
    },
    "central_dp": {"algorithm": USER | {"preset": "central_dp"}},
    "clip_norm_decay": {
        "algorithm": USER
        | {"preset": "clip_norm_decay", "clip_bound": None, "initial_bound": 1.0, "decay": 0.99}
    },
    "adaptive_clipping (quantile)": {"algorithm": USER | {"preset": "adaptive_clipping", "clip_bound": None}},
    "dp_ftrl (banded noise)": {
        "rounds": 4,
        "algorithm": USER
        | {"preset": "dp_ftrl", "sampler": None, "rounds": 4, "separation": 2, "noise_multiplier": 1.5},
    },
    "dp_ftrl, drawn in secret": {
        "rounds": 4,
        "algorithm": USER
        | {
            "preset": "dp_ftrl",
            "sampler": None,
            "rounds": 4,
            "separation": 2,
            "there": 0.5,
            "amplified": True,
        },
    },
    "weak_dp": {"algorithm": USER | {"preset": "weak_dp", "noise_multiplier": None, "noise_std": 0.25}},
    "insdp_fedavg": {
        "algorithm": {"preset": "insdp_fedavg", "clip_bound": None, "noise_multiplier": None, "local": DP_SGD}
    },
    "insdp_fedsgd": {
        "algorithm": {
            "preset": "insdp_fedsgd",
            "clip_bound": None,
            "noise_multiplier": None,
            "sampler": {"name": "fixed_size", "size": 4},
            "local": DP_SGD | {"noise_multiplier": 0.5},
        }
    },
    "dopamine": {
        "algorithm": {
            "preset": "dopamine",
            "clip_bound": None,
            "noise_multiplier": None,
            "sampler": {"name": "fixed_size", "size": 4},
            "local": DP_SGD | {"noise_multiplier": 0.5},
        }
    },
    "local_dp": {
        "algorithm": {"preset": "local_dp", "clip_bound": None, "noise_multiplier": None, "local": DP_SGD}
    },
    "ldp_fedsgd": {
        "algorithm": {"preset": "ldp_fedsgd", "noise_multiplier": 3.0, "learning_rate": 0.1, "local": None}
    },
}
"""What is changed in the experiment of the self-test, for each row."""


def main() -> None:
    """Audits those whose names contain one of the words, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=8000)
    parser.add_argument("only", nargs="*")
    given = parser.parse_args()
    for name, changes in PRESETS.items():
        if given.only and not any(word in name for word in given.only):
            continue
        begun = time.process_time()
        found = audit_once(with_changes({**SOUND, "rounds": ROUNDS}, changes), UNCHANGED, given.runs)
        seconds = time.process_time() - begun
        rates, family = (each.epsilon for each in found.bounds)
        estimate = "infinite" if found.estimate is None else f"{found.estimate:.2f}"
        share = f"{family / found.claimed:.0%}"
        row = (name, f"{found.claimed:.2f}", f"{rates:.2f}", f"{family:.2f}", share, estimate, found.runs)
        print(
            "|",
            " | ".join(map(str, row)),
            f"| {seconds:.0f} | {found.verdict} | {found.attack} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
