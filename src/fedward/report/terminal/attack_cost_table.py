"""Attack cost against the number of attackers: a table, and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console

from fedward.certificates.measured_cost import TAUS, AttackCosts, Line
from fedward.report.pictures.picture import Picture, label, panels
from fedward.report.terminal.certified_table import title
from fedward.report.terminal.console import table as table_of

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


def picture(found: Mapping[str, AttackCosts]) -> Picture:
    """Left: measured cost and its bounds against k. Right: attackers needed to divide the cost by τ.

    Attacks on one and the same training share their bounds, and a row of the picture.
    """
    rows = _same_bounds(found)
    figure, axes = panels(len(rows), 2, (11, 4.2 * len(rows)))
    for (left, right), row in zip(axes, rows, strict=True):
        first = next(iter(row.values()))
        for number, line in enumerate(first.lines):
            style = {"color": f"C{number}", "linestyle": _STYLES[line.mode]}
            k, what = range(len(line.lower)), title(line.mode, first.unit)
            left.plot(k, line.lower, label=f"bounds, {what}", **style)
            left.plot(k, line.upper, **style)
            reached = [(tau, k) for tau, k in zip(TAUS, line.needed, strict=True) if k is not None]
            if reached:
                right.plot(*zip(*reached, strict=True), marker=".", label=what, **style)
        for number, (name, costs) in enumerate(row.items(), len(first.lines)):
            _measured(left, costs, color=f"C{number}", label=f"measured, {name}")
        left.xaxis.get_major_locator().set_params(integer=True)
        attackers = "attackers k" if first.unit == "user" else "poisoned examples k"
        label(left, x=attackers, y=f"expected min(cost, {first.cost_bound:g})", bottom=0)
        label(right, x="τ", y="k that it takes to divide the cost by τ", bottom=0)
    return Picture(figure=figure)


def resolution(found: Mapping[str, AttackCosts]) -> int:
    """Many rows are for an overview."""
    return 150 if len(_same_bounds(found)) < 4 else 80


def _same_bounds(found: Mapping[str, AttackCosts]) -> list[dict[str, AttackCosts]]:
    """The variants in groups that have the same bounds, in the order in which they come."""
    groups: dict[tuple[float, tuple[Line, ...]], dict[str, AttackCosts]] = {}
    for name, costs in found.items():
        groups.setdefault((costs.cost_bound, costs.lines), {})[name] = costs
    return list(groups.values())


def _measured(panel: Any, costs: AttackCosts, **style: str) -> None:
    k, means = zip(*((each.attackers, each.mean) for each in costs.measured), strict=True)
    around = zip(*((each.mean - each.low, each.high - each.mean) for each in costs.measured), strict=True)
    panel.errorbar(k, means, yerr=list(around), marker="o", markersize=3, linewidth=1, **style)


def record(costs: AttackCosts) -> dict[str, Any]:
    """Everything as plain values, for a program to read."""
    crossed = {line.mode: costs.crossed(line.mode) for line in costs.lines}
    return {**asdict(costs), "taus": list(TAUS), "crossed": crossed}
