"""CPU seconds of commands that train nothing, beside those of ``import torch``.

    python benchmarks/startup.py

Every command and ``import torch`` run in processes of their own, in turn, so that a busy machine slows all of
them alike. A row has the median of the CPU seconds (user and system), and of their ratio to ``import torch``
in the same turn.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

TRAINING = "--noise-multiplier 3 --sampling-rate 0.1 --rounds 3"
COST = f"{TRAINING} --cost 0.3 --cost-bound 0.5"
SPENDING = "--sampling-rate 0.1 --delta 0.0029"
COMMANDS = (
    "--version",
    "--help",
    "run --help",
    "certify --help",
    "list",
    "new -",
    f"epsilon --noise-multiplier 3 --rounds 3 {SPENDING}",
    f"calibrate --epsilon 2 --rounds 3 {SPENDING}",
    f"certificate k --top 0.9 {TRAINING}",
    f"certificate attack-cost --attackers 1 {COST}",
    f"certificate attackers --tau 2 {COST}",
)


def cpu_seconds(*arguments: str, directory: str) -> float:
    """User and system time of one process of Python."""
    before = os.times()
    command = [sys.executable, *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=directory)
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU seconds of commands that train nothing.")
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    torch: list[float] = []
    seconds: dict[str, list[float]] = {command: [] for command in COMMANDS}
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(turns):
            torch.append(cpu_seconds("-c", "import torch", directory=directory))
            for command, found in seconds.items():
                found.append(cpu_seconds("-m", "fedward", *command.split(), directory=directory))
    print(f"{'command':<118}{'CPU s':>8}{'x torch':>9}")
    print(f"{'import torch':<118}{statistics.median(torch):>8.2f}{1:>9.2f}")
    for command, found in seconds.items():
        ratio = statistics.median(own / other for own, other in zip(found, torch, strict=True))
        print(f"{'fedward ' + command:<118}{statistics.median(found):>8.2f}{ratio:>9.2f}")


if __name__ == "__main__":
    main()
