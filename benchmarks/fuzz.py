"""Gives fedward command lines, experiment files, and modules and arrays that nobody would, thousands by hand.

    python benchmarks/fuzz.py                      # 1,000, 1,000 and 500 of them, and every huge number
    python benchmarks/fuzz.py --only commands --first 12 --count 1   # one of them again, with what it printed

The last kind are valid files in which one whole number is 10^13, each that a file takes in its turn.
Each is made by its number, and runs in a process of its own with an end to time and memory (tests/fuzzing).
It may work or be refused in words: a traceback, a death by a signal or no end within 60 seconds is a failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "FEDWARD_WORKERS": "0"}
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzzing import fuzzed_commands, fuzzed_parts
from fuzzing.fuzzed_experiments import experiment_files, try_file
from fuzzing.huge_numbers import check, huge_files
from fuzzing.limited_child import Outcome, carry_out

Trial = tuple[str, Callable[[Path], int | None], bool]
"""What it is, for people; what to do in which folder; whether that needs the prepared files."""


def commands(first: int, count: int) -> Iterator[Trial]:
    for seed in range(first, first + count):
        arguments = fuzzed_commands.command_line(seed)
        yield repr(arguments), partial(fuzzed_commands.run, arguments), True


def files(first: int, count: int) -> Iterator[Trial]:
    for number, content in enumerate(experiment_files(first + count)):
        if number >= first:
            yield f"contents {number}", partial(try_file, content), False


def own(first: int, count: int) -> Iterator[Trial]:
    for seed in range(first, first + count):
        yield f"module and arrays of seed {seed}", partial(fuzzed_parts.try_out, seed), False


def numbers(first: int, count: int) -> Iterator[Trial]:
    for number, (name, content) in enumerate(huge_files()):
        if first <= number < first + count:
            yield name, partial(check, content), False


KINDS: dict[str, tuple[Callable[[int, int], Iterator[Trial]], int]] = {
    "commands": (commands, 1000),
    "files": (files, 1000),
    "own": (own, 500),
    "numbers": (numbers, 1000),
}


def try_all(kind: str, first: int, count: int, prepared: Path) -> tuple[int, Counter[str], float]:
    """How many failed, how all ended, and the longest time; failures are printed as they come."""
    made, _ = KINDS[kind]
    failed, ends, longest = 0, Counter[str](), 0.0
    for number, (told, work, needs_files) in enumerate(made(first, count), first):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "here"
            if needs_files:
                shutil.copytree(prepared, folder, symlinks=True)
            else:
                folder.mkdir()
            begun = time.monotonic()
            outcome: Outcome = carry_out(partial(work, folder), folder)
            seconds = time.monotonic() - begun
        longest = max(longest, seconds)
        if seconds > 20:
            print(f"{kind} {number}: {seconds:.0f} s: {told:.300}", flush=True)
        ends[outcome.problem or f"exit code {outcome.code}"] += 1
        failed += bool(outcome.problem)
        if outcome.problem or count == 1:
            last = outcome.printed.strip().splitlines()[-12:] if count > 1 else [outcome.printed]
            print(
                f"{kind} {number}: {outcome.problem or 'fine'}: {told:.300}", *last, sep="\n    ", flush=True
            )
        elif number % 100 == 99:
            print(f"{kind}: {number - first + 1:,} of {count:,}, {failed:,} failed", flush=True)
    return failed, ends, longest


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--only", choices=KINDS, help="one kind alone")
    parser.add_argument("--count", type=int, help="how many of each kind")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as prepared, tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        kinds = [given.only] if given.only else list(KINDS)
        if "commands" in kinds:
            fuzzed_commands.prepare(Path(prepared))
        for kind in kinds:
            count = given.count or KINDS[kind][1]
            rows.append((kind, count, *try_all(kind, given.first, count, Path(prepared))))
    for kind, _, failed, ends, longest in rows:
        count = ends.total()
        told = ", ".join(f"{end}: {number:,}" for end, number in ends.most_common())
        print(f"{kind:10} {count:6,} tried, {failed:3,} failed, the longest {longest:.1f} s ({told})")
    sys.exit(1 if any(row[2] for row in rows) else 0)


if __name__ == "__main__":
    main()
