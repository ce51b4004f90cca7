"""The CPU seconds of each stage of ``fedward certify``: M replicas, one round, eight levels of noise.

    python benchmarks/certify.py --data DIR [--replicas 60] [--turns 3] [--beside CHECKOUT]

The CNN on MNIST 0/1 with 200 users; DIR holds MNIST/raw. Each turn is a process with one thread, this
checkout and the other one in turn. CPU seconds, which a busy machine stretches less than wall time; of the
stages, two threads share the training and the measuring.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
STAGES = ("training", "rounds", "storing", "measuring", "bounds", "whole")
LEVELS = "algorithm.noise_multiplier=1.0,1.5,2.0,2.3,2.5,3.0,4.0,5.0"
FILE = """
seed = 1
rounds = 1
[data]
name = "mnist"
classes = [0, 1]
users = 200
[model]
name = "mnist_cnn"
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 0.7
noise_multiplier = 3.0
sampler = { name = "poisson", rate = 0.1 }
[algorithm.local]
name = "sgd"
learning_rate = 0.02
batch_size = 60
epochs = 10
momentum = 0.9
weight_decay = 5e-4
[privacy]
users = 200
delta = 0.0029
"""
# Runs in a process of its own, with whichever checkout PYTHONPATH names.
STAGED = """
import json, sys, time
began = time.process_time()
import fedward
from fedward.backends.engines.choice import Engine
from fedward.certificates import ceiling, certified
from fedward.lockstep.lockstep import Lockstep
from fedward.rundir.replica_store import ReplicaDirectory
from fedward.studies.certification import certification_study, claimed_ceiling

seconds = dict.fromkeys(("training", "rounds", "storing", "measuring", "bounds"), 0.0)

def timed(owner, name, stage, inside=None):
    real = getattr(owner, name)
    def call(*arguments, **options):
        start = time.process_time()
        try:
            return real(*arguments, **options)
        finally:
            took = time.process_time() - start
            seconds[stage] += took
            if inside:
                seconds[inside] -= took
    setattr(owner, name, call)

timed(Engine, "train", "training", inside="rounds")
timed(Engine, "confidences", "measuring")
timed(ReplicaDirectory, "save_block", "storing")
timed(ReplicaDirectory, "finish_block", "storing")
timed(certification_study, "certify_setting_by", "bounds")
timed(claimed_ceiling, "ceilings", "bounds")

real_round = Lockstep.round
def round(self, *arguments):
    steps = real_round(self, *arguments)
    while True:
        start = time.process_time()
        try:
            step = next(steps)
        except StopIteration:
            return
        finally:
            seconds["rounds"] += time.process_time() - start
        yield step
Lockstep.round = round

from fedward.cli import main
try:
    main()
finally:
    with open(REPORT, "w") as report:
        json.dump(seconds | {"whole": time.process_time() - began}, report)
"""


def measure(checkout: Path, replicas: int, data: Path) -> dict[str, float]:
    """The CPU seconds of each stage in one process."""
    with tempfile.TemporaryDirectory() as folder:
        file, report = Path(folder) / "file.toml", Path(folder) / "report.json"
        file.write_text(FILE)
        program = STAGED.replace("REPORT", repr(str(report)))
        command = [sys.executable, "-c", program, "certify", str(file), "-m", str(replicas), "--workers", "0"]
        command += ["--vary", LEVELS, "--out", f"{folder}/run", "--data", str(data.resolve())]
        variables = {
            "PYTHONPATH": str(checkout / "src"),
            "OMP_NUM_THREADS": "1",
            # Nothing is known beforehand.
            "XDG_CACHE_HOME": f"{folder}/cache",
        }
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True)
        if done.returncode or not report.exists():
            raise SystemExit(f"certify in {checkout} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        found: dict[str, float] = json.loads(report.read_text())
        return found


def turns(checkouts: dict[str, Path], given: argparse.Namespace) -> Iterator[tuple[str, dict[str, float]]]:
    """Each checkout in turn."""
    for turn in range(given.turns):
        for name, checkout in checkouts.items():
            found = measure(checkout, given.replicas, given.data)
            print(turn + 1, name, *(f"{stage} {found[stage]:.1f}" for stage in STAGES), flush=True)
            yield name, found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replicas", type=int, default=60)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--beside", type=Path, help="another checkout, with the native engine compiled")
    parser.add_argument("--data", type=Path, required=True)
    given = parser.parse_args()
    checkouts = {"this": HERE} | ({"other": given.beside.resolve()} if given.beside else {})
    found: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
    for name, seconds in turns(checkouts, given):
        found[name].append(seconds)
    for stage in STAGES:
        medians = [statistics.median(each[stage] for each in found[name]) for name in checkouts]
        ratio = f"  {medians[1] / medians[0]:.2f} times" if len(medians) == 2 else ""
        print(
            f"{stage:10}",
            *(f"{name} {value:.2f} s" for name, value in zip(checkouts, medians, strict=True)),
            ratio,
        )


if __name__ == "__main__":
    main()
