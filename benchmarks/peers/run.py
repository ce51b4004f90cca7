"""The same training by fedward, a plain PyTorch loop, Flower's simulation and pfl-research, side by side.

    python benchmarks/peers/run.py --data DIR --peers-python PATH [--repeats 3] [--out FILE]

MNIST 0/1 dealt to 200 users, 63 examples each; 20 users a round, 10 local epochs in batches of 60, 10 rounds;
updates clipped to 0.7, noise multiplier 1. Everybody reads the same users from one file and begins with the
same weights. Contestants take turns, so that a busy machine slows all alike; medians are printed. The numbers
count only if everybody trained the same number of samples and ended above 98 % accuracy: this is checked.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from memory import Failed, watch
from rich.console import Console
from rich.table import Table
from task import COHORT, EPOCHS, USERS

import fedward

HERE = Path(__file__).parent
CORES = 2
ENOUGH = 0.98

# Nobody calls home, nobody leaves files outside of the scratch folder.
QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"}


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One row of the table: a script beside this file, and how it is started."""

    name: str
    script: str
    needs: str = "torch"
    peer: bool = True
    processes: int = 1
    threads: int = 1
    launcher: tuple[str, ...] = ()

    def command(self, python: str, folder: Path, rounds: int, seed: int) -> list[str]:
        numbers = {
            "--rounds": rounds,
            "--processes": self.processes,
            "--threads": self.threads,
            "--seed": seed,
        }
        pairs = [str(part) for pair in numbers.items() for part in pair]
        return [python, *self.launcher, str(HERE / self.script), "--folder", str(folder), *pairs]


TORCHRUN = ("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={CORES}")
CONTESTANTS = {
    "plain": Contestant(
        name="plain PyTorch loop, 2 threads", script="plain_loop.py", peer=False, threads=CORES
    ),
    "native": Contestant(
        name="fedward native, 2 threads", script="with_fedward.py", peer=False, threads=CORES
    ),
    "cluster": Contestant(
        name="fedward native, Ray cluster of 2 nodes",
        script="with_fedward.py",
        needs="ray",
        peer=False,
        processes=CORES,
        threads=CORES,
    ),
    "fedward": Contestant(name="fedward generic, one process", script="with_fedward.py", peer=False),
    "workers": Contestant(
        name="fedward generic, 2 workers", script="with_fedward.py", peer=False, processes=CORES
    ),
    "flower": Contestant(
        name="Flower simulation (Ray), 1 CPU a client",
        script="with_flower.py",
        needs="flwr",
        processes=CORES,
    ),
    "pfl": Contestant(name="pfl-research, 2 threads", script="with_pfl.py", needs="pfl", threads=CORES),
    "pfl2": Contestant(
        name="pfl-research, 2 processes (gloo)",
        script="with_pfl.py",
        needs="pfl",
        processes=CORES,
        launcher=TORCHRUN,
    ),
}


def prepare(folder: Path, data_dir: str | None) -> int:
    """Writes what everybody trains on; returns how many samples one round has."""
    federation = fedward.datasets.mnist.load(data_dir=data_dir, classes=(0, 1), users=USERS, seed=0)
    each = int(federation.sizes.min())
    own = [federation.user(user).span(0, each) for user in range(USERS)]
    np.savez(
        folder / "data.npz",
        x=np.stack([examples.x.numpy() for examples in own]),
        y=np.stack([examples.y.numpy() for examples in own]),
        test_x=federation.test.x.numpy(),
        test_y=federation.test.y.numpy(),
    )
    return COHORT * EPOCHS * each


def missing(contestant: Contestant, python: str) -> str:
    """Why a contestant cannot take part; empty if it can."""
    if contestant.name.startswith("fedward generic") and contestant.processes > 1:
        return "" if hasattr(fedward.backends, "Workers") else "fedward.backends has no Workers yet"
    find = f"import importlib.util as u, sys; sys.exit(u.find_spec({contestant.needs!r}) is None)"
    found = subprocess.run([python, "-c", find], check=False).returncode == 0
    return "" if found else f"{contestant.needs} is not installed in {python}"


def turn(contestant: Contestant, python: str, folder: Path, rounds: int, seed: int) -> dict[str, Any]:
    """One run of one contestant."""
    environment = QUIET | {
        "OMP_NUM_THREADS": str(contestant.threads),
        "FLWR_HOME": str(folder / "flwr"),
        "TMPDIR": str(folder),
    }
    seen = watch(contestant.command(python, folder, rounds, seed), environment=environment)
    report = json.loads(next(line for line in seen.output.splitlines() if line.startswith('{"rounds"')))
    taken = report["rounds"]
    return report | {
        "whole_job": seen.seconds,
        "training": sum(taken),
        "warm_round": statistics.median(taken[1:] or taken),
        "peak_bytes": seen.peak_bytes,
    }


def show(results: dict[str, list[dict[str, Any]]], console: Console) -> None:
    columns = ("whole job s", "training s", "warm round s", "of plain", "peak MB", "accuracy", "samples")
    table = Table("", *columns, title="medians; a warm round as a multiple of the plain loop's speed")
    for name in columns:
        table.columns[1 + columns.index(name)].justify = "right"
    medians = {
        name: {key: statistics.median(run[key] for run in runs) for key in runs[0] if key not in TEXTS}
        for name, runs in results.items()
        if runs
    }
    plain = medians.get("plain", {}).get("warm_round")
    for name, found in medians.items():
        table.add_row(
            CONTESTANTS[name].name,
            f"{found['whole_job']:.1f}",
            f"{found['training']:.1f}",
            f"{found['warm_round']:.2f}",
            f"{plain / found['warm_round']:.2f} x" if plain else "-",
            f"{found['peak_bytes'] / 1e6:,.0f}",
            f"{found['accuracy']:.2%}",
            f"{found['samples']:,.0f}",
        )
    console.print(table)


TEXTS = ("rounds", "versions")


def faults(results: dict[str, list[dict[str, Any]]], samples: int) -> list[str]:
    """What makes the comparison unfair or void."""
    found = []
    torches = {run["versions"]["torch"] for runs in results.values() for run in runs}
    if len(torches) > 1:
        found.append(f"contestants have different versions of torch: {', '.join(sorted(torches))}")
    for name, runs in results.items():
        found += [
            f"{CONTESTANTS[name].name} trained {run['samples']} samples, not {samples}"
            for run in runs
            if run["samples"] != samples
        ]
        # Noise can spoil a single training, whoever adds it.
        if runs and (middle := statistics.median(run["accuracy"] for run in runs)) <= ENOUGH:
            found.append(f"{CONTESTANTS[name].name} reached {middle:.2%} only (median)")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="where MNIST/raw lies; else FEDWARD_DATA")
    parser.add_argument("--peers-python", default=sys.executable, help="the Python that has Flower and pfl")
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--out", type=Path, help="a JSON file for all that was measured")
    given = parser.parse_args()
    console = Console(width=max(120, Console().width))

    wrong: list[str] = []
    results: dict[str, list[dict[str, Any]]] = {}
    pythons = {name: given.peers_python if CONTESTANTS[name].peer else sys.executable for name in given.only}
    for name in given.only:
        if why := missing(CONTESTANTS[name], pythons[name]):
            console.print(f"[yellow]left out[/]: {CONTESTANTS[name].name}: {why}")
        else:
            results[name] = []
    with tempfile.TemporaryDirectory(prefix="peers") as scratch:
        folder = Path(scratch)
        samples = given.rounds * prepare(folder, given.data)
        for repeat in range(given.repeats):
            for name in list(results):
                console.print(f"{repeat + 1}/{given.repeats} {CONTESTANTS[name].name} ...", highlight=False)
                try:
                    results[name].append(
                        turn(CONTESTANTS[name], pythons[name], folder, given.rounds, repeat + 1)
                    )
                except Failed as error:
                    wrong.append(f"{CONTESTANTS[name].name}: {error}")
    show(results, console)
    wrong += faults(results, samples)
    for fault in wrong:
        console.print(f"[red]void[/]: {fault}", highlight=False)
    if given.out is not None:
        machine = {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()}
        content = {"machine": machine, "rounds": given.rounds, "results": results, "faults": wrong}
        given.out.write_text(json.dumps(content, indent=1) + "\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
