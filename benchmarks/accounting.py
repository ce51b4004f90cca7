"""The CPU seconds of ``pld`` and of searches for noise, and whether ε is that of another checkout.

    python benchmarks/accounting.py [--turns 3] [--beside CHECKOUT]

Each turn is a process with one thread and an empty cache, this checkout and the other one in turn; then this
one with the cache that it filled. A row has the question, the answer, and the seconds of the other checkout,
of this one, and of this one again.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
# Sampling rate, noise multiplier, rounds, δ.
SPENDINGS = [
    (0.1, 1.0, 1000, 1e-5),
    (0.01, 0.5, 1000, 1e-5),
    (0.01, 0.3, 1000, 1e-6),
    (1e-3, 0.2, 300, 1e-6),
    (1e-4, 0.25, 100, 1e-5),
    (1e-4, 0.12, 100, 1e-5),
]
# Sampling rate, rounds, ε; δ is 1e-5.
SEARCHES = [(0.1, 30, 2.0), (1e-3, 10_000, 1.0), (1e-4, 100, 1.0), (1e-12, 100, 1.0)]
PROGRAM = """
import json, sys, time
from fedward.privacy import epsilon_of, noise_for
from fedward.privacy.accounting_events import GaussianDpEvent, PoissonSampledDpEvent
spendings, searches = json.loads(sys.argv[1])
# What is imported late is imported now.
epsilon_of([(PoissonSampledDpEvent(0.25, GaussianDpEvent(2.0)), 2)], 1e-3, "pld", "add/remove")
found = []
for q, z, rounds, delta in spendings:
    start = time.process_time()
    epsilon = epsilon_of([(PoissonSampledDpEvent(q, GaussianDpEvent(z)), rounds)], delta, "pld", "add/remove")
    found.append((time.process_time() - start, epsilon))
for q, rounds, epsilon in searches:
    start = time.process_time()
    try:
        z = noise_for(
            epsilon, 1e-5, lambda z: PoissonSampledDpEvent(q, GaussianDpEvent(z)), rounds, "pld", "add/remove"
        )
    except ValueError:
        z = None
    found.append((time.process_time() - start, z))
print(json.dumps(found))
"""
Found = list[tuple[float, float | None]]


def measure(checkout: Path, cache: str, searches: list[tuple[float, int, float]]) -> Found:
    """Seconds and answer of each question, in one process."""
    variables = {"PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": cache}
    command = [sys.executable, "-c", PROGRAM, json.dumps([SPENDINGS, searches])]
    done = subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    return [(seconds, answer) for seconds, answer in json.loads(done.stdout)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument(
        "--beside", type=Path, help="another checkout; it may not end at q = 1e-12, which it skips"
    )
    given = parser.parse_args()
    ours: list[Found] = []
    theirs: list[Found] = []
    again: list[Found] = []
    for _ in range(given.turns):
        with tempfile.TemporaryDirectory() as cache:
            ours.append(measure(HERE, cache, SEARCHES))
            again.append(measure(HERE, cache, SEARCHES))
        if given.beside:
            with tempfile.TemporaryDirectory() as cache:
                theirs.append(measure(given.beside.resolve(), cache, SEARCHES[:-1]))
    for number, question in enumerate([*SPENDINGS, *SEARCHES]):
        asked = [turns for turns in (theirs, ours, again) if turns and number < len(turns[0])]
        seconds = [statistics.median(found[number][0] for found in turns) for turns in asked]
        row = [str(question), str(ours[0][number][1]), *(f"{each:.3f} s" for each in seconds)]
        if theirs and number < len(SPENDINGS):
            row.append("the same" if theirs[0][number][1] == ours[0][number][1] else "ANOTHER")
        print("  ".join(row))


if __name__ == "__main__":
    main()
