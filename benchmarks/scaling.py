"""How fedward grows: with users (10² to 10⁵), replicas (1 to 1000) and parameters (10⁴ to 10⁷).

    python benchmarks/scaling.py [users] [replicas] [parameters] [--out FILE]

No data and no other package is needed: everything is trained on generated users. Every row is measured in
processes of its own; peak memory is the sum over all of them (PSS, sampled), with about 200 MB for Python
and torch in each.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from peers.memory import watch
from rich.console import Console
from rich.table import Table

JOBS = Path(__file__).with_name("scaling_jobs.py")


def measure(what: str, size: int, **options: int | str) -> dict[str, Any]:
    """One row: what the job reports, with its peak memory and the seconds that it took as a whole."""
    extra = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
    # Only the plain loop uses more than one thread, and it says so itself.
    seen = watch([sys.executable, str(JOBS), what, str(size), *extra], environment={"OMP_NUM_THREADS": "1"})
    report: dict[str, Any] = json.loads(seen.output.splitlines()[-1])
    sizes = {"size": size, "peak_bytes": seen.peak_bytes, "seconds": seen.seconds}
    return sizes | {name: value for name, value in options.items() if name not in report} | report


def users(given: argparse.Namespace) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """The same expected cohort, 1,000 users (or all 100), out of more and more."""
    for size in given.users:
        row = measure("users", size, rounds=given.user_rounds)
        each = row["round_processor"] / row["cohort"]
        yield (
            row,
            [
                f"{size:,}",
                f"{row['cohort']:,.0f}",
                f"{row['data_bytes'] / 1e6:,.1f}",
                f"{row['peak_bytes'] / 1e6:,.0f}",
                f"{(row['peak_bytes'] - row['data_bytes']) / 1e6:,.0f}",
                f"{row['round']:.3f}",
                f"{row['round_processor']:.3f}",
                f"{1e6 * each:.0f}",
                f"{1e3 * row['draw']:.2f}",
                f"{row['accuracy']:.0%}",
            ],
        )


def replicas(given: argparse.Namespace) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """MNIST-like images, CNN, 200 users, 40 a round: equal jobs run once. Last: 8 noise levels, one round."""
    rows = [(size, 1, given.replica_rounds) for size in given.replicas]
    for size, levels, rounds in [*rows, (max(given.replicas), 8, 1)]:
        row = measure("replicas", size, levels=levels, rounds=rounds)
        yield (
            row,
            [
                f"{size:,}",
                str(levels),
                str(rounds),
                f"{row['asked']:,}",
                f"{row['run']:,}",
                f"{row['training']:.1f}",
                f"{row['evaluation']:.1f}",
                f"{row['peak_bytes'] / 1e6:,.0f}",
            ],
        )


ENGINES = {
    "plain": "plain loop, 2 threads",
    "plain-alone": "plain loop, 1 thread",
    "threads": "fedward, 2 threads",
    "in-process": "fedward in one process",
    "workers": "fedward, 2 workers, generic",
}


def parameters(given: argparse.Namespace) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """One wide hidden layer; 10 users a round with 20 examples each, 2 local epochs in batches of 10."""
    for size in given.parameters:
        rows: dict[str, list[dict[str, Any]]] = {engine: [] for engine in given.engines}
        for _ in range(given.turns):
            for engine in given.engines:
                rows[engine].append(measure("parameters", size, rounds=given.parameter_rounds, engine=engine))
        plain: dict[str, float] = {}
        for engine, found in rows.items():
            names = ("round", "round_processor", "peak_bytes", "resident_bytes", "seconds")
            row = found[0] | {name: statistics.median(each[name] for each in found) for name in names}
            plain = plain or row
            yield (
                row,
                [
                    f"{row['parameters']:,}",
                    ENGINES[engine],
                    f"{row['round']:.3f}",
                    f"{plain['round'] / row['round']:.2f} x",
                    f"{row['round_processor']:.3f}",
                    f"{row['resident_bytes'] / 1e6:,.0f}",
                    f"{row['peak_bytes'] / 1e6:,.0f}",
                    f"{row['peak_bytes'] / plain['peak_bytes']:.2f} x",
                ],
            )


TABLES = {
    "users": (
        users,
        "users|cohort|data MB|peak MB|peak - data|round s|its processor s|µs a user|draw ms|accuracy",
    ),
    "replicas": (
        replicas,
        "replicas|noise levels|rounds|jobs asked|jobs run|training s|evaluation s|peak MB",
    ),
    "parameters": (parameters, "parameters|engine|round s|of plain|its processor s|its MB|peak MB|of plain"),
}


def numbers(text: str) -> list[int]:
    return [int(float(part)) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", help=f"which of {', '.join(TABLES)}; all if none is named")
    parser.add_argument("--users", type=numbers, default=[10**2, 10**3, 10**4, 10**5])
    parser.add_argument("--user-rounds", type=int, default=100)
    parser.add_argument("--replicas", type=numbers, default=[1, 10, 100, 1000])
    parser.add_argument("--replica-rounds", type=int, default=2)
    parser.add_argument("--parameters", type=numbers, default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--parameter-rounds", type=int, default=6)
    parser.add_argument("--engines", type=lambda text: text.split(","), default=[*ENGINES])
    parser.add_argument("--turns", type=int, default=3, help="of every engine, one after the other")
    parser.add_argument("--out", type=Path, help="a JSON file for all that was measured")
    given = parser.parse_args()
    if unknown := set(given.tables) - set(TABLES):
        parser.error(f"there are the tables {', '.join(TABLES)}, got {', '.join(sorted(unknown))}")
    console = Console(width=max(120, Console().width))
    found: dict[str, list[dict[str, Any]]] = {}
    for name in given.tables or TABLES:
        rows, header = TABLES[name]
        table = Table(*header.split("|"), title=f"{name}: {rows.__doc__}")
        found[name] = []
        for row, cells in rows(given):
            console.print(f"{name}: {' '.join(cells)}", highlight=False, style="dim")
            found[name].append(row)
            table.add_row(*cells)
        for column in table.columns:
            column.justify = "left" if column.header == "engine" else "right"
        console.print(table)
    if given.out is not None:
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
