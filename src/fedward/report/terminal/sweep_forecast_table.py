"""The forecast of a sweep, printed on the terminal or given to programs."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from fedward.forecast.sweep_forecast import SweepForecast
from fedward.privacy.rounding import round_up_digits
from fedward.report.terminal import forecast_table as one
from fedward.report.terminal.epsilon_about import differing, in_common


def print_sweep_forecast(console: Console, title: str, found: SweepForecast) -> None:
    """The first combination in full, all of them as a table, and what they cost together."""
    first, *others = found.combinations.items()
    sweep = found.sweep
    one.print_forecast(console, f"{title}; its first combination, {first[0]}:", first[1])
    if others:
        guarantees = [each.spending.guarantee for each in found.combinations.values()]
        about = differing(guarantees)
        table = Table("combination", "rounds", "local trainings", "ε", *about)
        for column in table.columns[1:]:
            column.justify = "right"
        for number, (name, each) in enumerate(found.combinations.items()):
            guarantee = each.spending.guarantee
            epsilon = round_up_digits(guarantee.epsilon) if guarantee.private else "none"
            more = (cells[number] for cells in about.values())
            table.add_row(name, f"{each.rounds:,}", f"{each.jobs.asked:,.0f}", epsilon, *more)
        console.print(table)
        for line in in_common(guarantees):
            console.print(line, highlight=False, soft_wrap=True)
    time = "time not estimated"
    if found.seconds is not None:
        low, high = found.seconds
        time = f"{one.duration(low)} to {one.duration(high)} (an estimate, without what is shared)"
    console.print(
        f"{len(found.combinations):,} combinations, seeds {', '.join(map(str, sweep.seeds))}: "
        f"{len(sweep.points):,} trainings, {time}, about {one.size(found.disk)} of disk",
        highlight=False,
        soft_wrap=True,
    )


def sweep_record(found: SweepForecast) -> dict[str, Any]:
    """The same for programs."""
    seconds = None if found.seconds is None else dict(zip(("low", "high"), found.seconds, strict=True))
    return {
        "trainings": len(found.sweep.points),
        "seeds": list(found.sweep.seeds),
        "combinations": {name: one.record(each) for name, each in found.combinations.items()},
        "seconds": seconds,
        "disk_bytes": found.disk,
    }
