"""Carries out schedules of faults, thousands by hand, and prints a table of what survived them.

    python benchmarks/faults.py --seeds 2000            # seeds 0 to 1999
    python benchmarks/faults.py --first 1234 --seeds 1  # one of them again, with what happened

A seed decides on the study, the faults and their moments (tests/studies/faults). Afterwards the study is left
alone, and must end with the same bits as one that never had a fault, with no budget forgotten.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from studies.faults.fault_trial import Trial, try_seed


def print_table(trials: list[Trial]) -> None:
    """What was tried, by fault and by study."""
    for title, names in (
        ("fault", {trial.schedule.seed: trial.happened for trial in trials}),
        ("study", {trial.schedule.seed: (trial.schedule.study,) for trial in trials}),
    ):
        tried, survived = Counter[str](), Counter[str]()
        failures: dict[str, list[int]] = {}
        for trial in trials:
            for name in set(names[trial.schedule.seed]):
                tried[name] += 1
                survived[name] += not trial.problem
                if trial.problem:
                    failures.setdefault(name, []).append(trial.schedule.seed)
        print(f"\n{title:36} {'schedules':>9} {'the same bits':>14}  failures")
        for name in sorted(tried):
            seeds = ", ".join(map(str, failures.get(name, [])[:8])) or "-"
            print(f"{name:36} {tried[name]:9,} {survived[name]:14,}  {seeds}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    given = parser.parse_args()
    trials = []
    for seed in range(given.first, given.first + given.seeds):
        with tempfile.TemporaryDirectory() as folder:
            trial = try_seed(seed, Path(folder))
        trials.append(trial)
        if trial.problem or given.seeds == 1:
            print(f"seed {seed}: {trial.problem or 'survived'}\n  {trial.schedule}", flush=True)
    print_table(trials)
    failed = sum(bool(trial.problem) for trial in trials)
    happened = sum(len(trial.happened) for trial in trials)
    print(f"\n{len(trials):,} seeds, {happened:,} faults that happened, {failed:,} seeds failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
