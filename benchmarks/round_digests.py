"""Measures what digests add to a round on disk: the same training with and without them, in turns.

    python benchmarks/round_digests.py

Without them nothing is hashed and ``digests.jsonl`` is not written; all else is. The time of a round is that
between two steps of the loop, in which its files are written and synced. The local training is chosen so that
a round takes about 20 ms.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from fedward.backends.compute import Compute
from fedward.config.experiment import from_content
from fedward.rundir.digest_log import Changes, FileState
from fedward.rundir.run_files import Append, RunFiles
from fedward.studies.training.training_study import TrainingStudy, prepare

CONTENT = {
    "seed": 1,
    "data": {"name": "digits", "users": 20},
    "model": {"name": "mlp"},
    "algorithm": {
        "preset": "user_dp_fedavg",
        "clip_bound": 1.0,
        "noise_multiplier": 2.0,
        "sampler": {"name": "poisson", "rate": 0.5},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 10},
    },
    "privacy": {"users": 20, "delta": 0.01, "accountant": "rdp"},
    "evaluation": {"every": 10},
}
NOTHING = FileState(0, "")


@contextmanager
def without_digests() -> Iterator[None]:
    """Within it files are written, and nothing is said of what they will be."""

    def carry_out(files: RunFiles, changes: Changes, write: Callable[[], None]) -> None:
        write()

    def with_line(files: RunFiles, added: Append) -> tuple[FileState, None]:
        return NOTHING, None

    with (
        mock.patch.object(RunFiles, "_announce", carry_out),
        mock.patch.object(RunFiles, "_with_line", with_line),
        mock.patch.object(FileState, "of", return_value=NOTHING),
    ):
        yield


@contextmanager
def with_digests() -> Iterator[None]:
    yield


def seconds_a_round(rounds: int, epochs: int, folder: Path) -> float:
    """The median time of a round that is not measured, after the first ten."""
    content = CONTENT | {"rounds": rounds}
    content["algorithm"]["local"]["epochs"] = epochs
    study = TrainingStudy(setup=prepare(from_content(content)))
    compute = Compute(workers=0)
    times = []
    with study.open(folder, compute) as place:
        before = time.perf_counter()
        for _ in study.steps(place, compute):
            now = time.perf_counter()
            times.append(now - before)
            before = now
    return statistics.median(times[10:])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=100, help="of each training")
    parser.add_argument("--turns", type=int, default=5, help="trainings of each kind")
    parser.add_argument("--epochs", type=int, default=4, help="of a local training: more make rounds longer")
    given = parser.parse_args()
    ratios, found = [], {}
    for turn in range(given.turns):
        for name, kind in (("with", with_digests), ("without", without_digests)):
            with tempfile.TemporaryDirectory() as folder, kind():
                found[name] = seconds_a_round(given.rounds, given.epochs, Path(folder) / "run")
        ratios.append(found["with"] / found["without"])
        print(
            f"turn {turn + 1}: {found['with'] * 1e3:.2f} ms a round with digests, "
            f"{found['without'] * 1e3:.2f} ms without, ratio {ratios[-1]:.3f}",
            flush=True,
        )
    print(f"median ratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
