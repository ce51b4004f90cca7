"""Kills workers, nodes and drivers of a small cluster at random moments, and compares what comes out.

    python benchmarks/cluster_kills.py --trials 20 --seed 1

Each trial is a real command (``run``, ``replicas`` or ``sweep``) on two nodes that it starts. Something
of it gets SIGKILL: a process that trains, a node's raylet, or the command, which is then given again. At the
end the bits must be those of a run that nobody disturbed, on this machine alone, and no process may be left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

EXPERIMENT = """
seed = 1
rounds = 6
data = { name = "digits", users = 20 }
model = { name = "digits_cnn" }
privacy = { users = 20, delta = 0.01, accountant = "rdp" }
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 2.0
sampler = { name = "poisson", rate = 0.5 }
local = { name = "sgd", learning_rate = 0.1, batch_size = 10, epochs = 10 }
"""
SWEEP = '[sweep]\nseeds = 4\n"algorithm.noise_multiplier" = [1.0, 2.0]\n'
COMMANDS = {
    "run": ["run", "e.toml", "--set", "rounds=30"],
    "replicas": ["replicas", "e.toml", "-m", "40", "--block", "2"],
    "sweep": ["sweep", "s.toml"],
}
VICTIMS = ("worker", "node", "driver")
TASKS = ("train_chunk", "run_block", "run_training")

# What says when and where, and which of equal jobs ran: a kill has some run again.
SAY_WHEN = ("run.json", "digests.jsonl", "sweep.png")
COUNTS = ("jobs_run", "jobs_asked", "asked", "run")
PATIENCE = 300.0


class Command:
    """A command on two nodes of its own."""

    def __init__(self, folder: Path, name: str, out: Path) -> None:
        words = [*COMMANDS[name], "--out", str(out), "--cluster", "local:2"]
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the command
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fedward", *words],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=self._words,
        )

    def told(self) -> str:
        self._words.seek(0)
        return self._words.read().decode(errors="replace")

    def over(self) -> bool:
        return self.process.poll() is not None

    def find(self, victim: str) -> int | None:
        """A process of this kind, if there is one now."""
        if victim == "driver":
            return self.process.pid
        below = dict(_below(self.process.pid))
        if victim == "worker":
            found = [pid for pid, words in below.items() if any(f"ray::{task}" in words for task in TASKS)]
        else:  # not the node that the command itself is on: that is the cluster's head
            found = [
                pid
                for pid, words in below.items()
                if "raylet/raylet " in words and "--node_ip_address=127.0.0.3" in words
            ]
        return random.choice(found) if found else None


def _below(root: int) -> Iterator[tuple[int, str]]:
    """All processes that a process has started, with their commands."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rpartition(") ")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state not in "ZX":
            parents[int(folder.name)] = int(parent)
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    for pid in found - {root}:
        try:
            yield pid, Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(command: Command, victim: str) -> bool:
    """Whether there is such a process, and something is trained, before the command is over."""
    end = time.monotonic() + PATIENCE
    while not command.over() and time.monotonic() < end:
        if command.find("worker") is not None and command.find(victim) is not None:
            return True
        time.sleep(0.02)
    return False


def finish(command: Command) -> int:
    return command.process.wait(PATIENCE)


def differences(one: Path, other: Path) -> list[str]:
    """The files that hold something else."""
    names = [
        {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file() and file.suffix}
        for path in (one, other)
    ]
    found = sorted(names[0] ^ names[1])
    for name in sorted(names[0] & names[1]):
        file = one / name
        if file.name in SAY_WHEN:
            continue
        if file.suffix == ".npz":
            arrays = [dict(np.load(path / name)) for path in (one, other)]
            same = arrays[0].keys() == arrays[1].keys() and all(
                np.array_equal(array, arrays[1][key]) for key, array in arrays[0].items() if key not in COUNTS
            )
        elif file.name == "result.json":
            results = [json.loads((path / name).read_text()) for path in (one, other)]
            same = [{key: value for key, value in each.items() if key not in COUNTS} for each in results] == [
                {key: value for key, value in results[0].items() if key not in COUNTS}
            ] * 2
        else:
            same = file.read_bytes() == (other / name).read_bytes()
        if not same:
            found.append(name)
    return found


def trial(folder: Path, name: str, victim: str, seconds: float, out: Path) -> str | None:
    """What one kill led to; None if the command was over before."""
    command = Command(folder, name, out)
    if not wait_for(command, victim):
        finish(command)
        return None
    moment = random.uniform(0, seconds)
    time.sleep(moment)
    pid = None if command.over() else command.find(victim)
    if pid is None:
        finish(command)
        return None
    ours = [pid for pid, _ in _below(command.process.pid)]
    os.kill(pid, signal.SIGKILL)
    code = finish(command)
    again = code != 0
    if again and victim != "driver":
        return f"{moment:5.2f} s  FAILED: {command.told().strip().splitlines()[-1:]}"
    end = time.monotonic() + 60
    while (left := [pid for pid in ours if _alive(pid)]) and time.monotonic() < end:
        time.sleep(0.1)
    if again:
        more = Command(folder, name, out)
        if finish(more) != 0:
            return f"{moment:5.2f} s  FAILED when it went on: {more.told().strip().splitlines()[-1:]}"
    differ = differences(folder / name, out)
    said = "went on by itself" if not again else "went on when it was asked again"
    bits = f"OTHER BITS: {differ}" if differ else "same bits"
    return f"{moment:5.2f} s  {said}, {bits}, {f'LEFT: {left}' if left else 'nothing left'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    told = parser.parse_args()
    random.seed(told.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "e.toml").write_text(EXPERIMENT)
        (folder / "s.toml").write_text(EXPERIMENT + SWEEP)
        seconds = {}
        for command in told.only:
            words = COMMANDS[command]
            alone = [
                sys.executable,
                "-m",
                "fedward",
                *words,
                "--out",
                str(folder / command),
                "--workers",
                "0",
            ]
            began = time.monotonic()
            subprocess.run(alone, cwd=folder, check=True, capture_output=True)
            seconds[command] = time.monotonic() - began
            print(f"{command}: {seconds[command]:.1f} s here", flush=True)
        bad, number = 0, 0
        while number < told.trials:
            command, victim = random.choice(told.only), VICTIMS[number % len(VICTIMS)]
            found = trial(
                folder, command, victim, seconds[command], folder / f"trial-{number}-{random.random()}"
            )
            if found is not None:
                number += 1
                bad += any(word in found for word in ("FAILED", "OTHER", "LEFT"))
                print(f"{number:2d}  {command:8s}  {victim:6s}  {found}", flush=True)
    print(f"{told.trials} kills, {bad} with something wrong")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
