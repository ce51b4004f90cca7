"""Attack cost against the number of attackers: a table, and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console

from fedward.certificates.measured_cost import TAUS, AttackCosts, Line
from fedward.reports.pictures.picture import Picture
from fedward.reports.pictures.sketch import Sketch
from fedward.reports.terminal.certified_table import title
from fedward.reports.terminal.console import table as table_of

_STYLES = {"paper": ":", "inject": "-", "present": "-.", "compromise": "--"}


def table(console: Console, found: Mapping[str, AttackCosts]) -> None:
    """Measured cost beside the bounds, for each number of attackers."""
    for name, costs in found.items():
        modes = [line.mode for line in costs.lines]
        rows = []
        for each in costs.measured:
            least = [f"{line.lower[each.attackers]:.3f}" for line in costs.lines]
            rows.append([str(each.attackers), f"{each.mean:.3f}", f"{each.low:.3f}-{each.high:.3f}", *least])
        about = f"{name}: expected min(cost, {costs.cost_bound:g}), and the least it can be in each mode"
        console.print(table_of(["k", "measured", "95 % interval", *modes], rows, left=0, title=about))
        for mode in modes:
            if crossed := costs.crossed(mode):
                told = ", ".join(map(str, crossed))
                console.print(f"{name}: the {mode} bound is crossed at {told} attackers", style="bold red")


def picture(found: Mapping[str, AttackCosts], style: str = "screen") -> Picture:
    """Left: measured cost and its bounds against k. Right: attackers needed to divide the cost by τ.

    Attacks on one and the same training share their bounds, and a row of the picture.
    """
    rows = _same_bounds(found)
    charts = [chart for row in rows for chart in (f"cost: {', '.join(row)}", f"k for τ: {', '.join(row)}")]
    sketch = Sketch(charts, (5.5, 4.2), style, across=2)
    places = iter(sketch.panels)
    for left, right, row in zip(places, places, rows, strict=True):
        first = next(iter(row.values()))
        for number, line in enumerate(first.lines):
            own: dict[str, Any] = {"number": number, "linestyle": _STYLES[line.mode]}
            every, what = range(len(line.lower)), title(line.mode, first.unit)
            left.line(f"least, {what}", every, line.lower, label=f"bounds, {what}", marker=None, **own)
            left.line(f"most, {what}", every, line.upper, label=None, marker=None, **own)
            reached = [(tau, k) for tau, k in zip(TAUS, line.needed, strict=True) if k is not None]
            if reached:
                taus, needed = zip(*reached, strict=True)
                right.line(what, taus, needed, marker=".", **own)
        for number, (name, costs) in enumerate(row.items(), len(first.lines)):
            k, means, low, high = zip(
                *((m.attackers, m.mean, m.low, m.high) for m in costs.measured), strict=True
            )
            left.line(f"measured, {name}", k, means, low, high, number=number, linestyle="-", linewidth=1)
        left.axes.xaxis.get_major_locator().set_params(integer=True)
        attackers = "attackers k" if first.unit == "user" else "poisoned examples k"
        left.label(x=attackers, y=f"expected min(cost, {first.cost_bound:g})", title="", bottom=0)
        right.label(x="τ", y="k that it takes to divide the cost by τ", title="", bottom=0)
        left.legend()
        right.legend()
    return sketch.picture()


def resolution(found: Mapping[str, AttackCosts]) -> int:
    """Many rows are for an overview."""
    return 150 if len(_same_bounds(found)) < 4 else 80


def _same_bounds(found: Mapping[str, AttackCosts]) -> list[dict[str, AttackCosts]]:
    """The variants in groups that have the same bounds, in the order in which they come."""
    groups: dict[tuple[float, tuple[Line, ...]], dict[str, AttackCosts]] = {}
    for name, costs in found.items():
        groups.setdefault((costs.cost_bound, costs.lines), {})[name] = costs
    return list(groups.values())


def record(costs: AttackCosts) -> dict[str, Any]:
    """Everything as plain values, for a program to read."""
    crossed = {line.mode: costs.crossed(line.mode) for line in costs.lines}
    return {**asdict(costs), "taus": list(TAUS), "crossed": crossed}
