"""Attack cost against the number of attackers: a table, and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from fedward.report.pictures.picture import Picture
from fedward.report.terminal.certified_table import title
from fedward.studies.certification.attack_costs import TAUS, AttackCosts, Line

_STYLES = {"paper": ":", "inject": "-", "present": "-.", "compromise": "--"}


def table(console: Console, found: Mapping[str, AttackCosts]) -> None:
    """Measured cost beside the bounds, for each number of attackers."""
    for name, costs in found.items():
        modes = [line.mode for line in costs.lines]
        rows = Table("k", "measured", "95 % interval", *modes)
        rows.title = f"{name}: expected min(cost, {costs.cost_bound:g}), and the least it can be in each mode"
        for column in rows.columns:
            column.justify = "right"
        for each in costs.measured:
            rows.add_row(
                str(each.attackers),
                f"{each.mean:.3f}",
                f"{each.low:.3f}-{each.high:.3f}",
                *(f"{line.lower[each.attackers]:.3f}" for line in costs.lines),
            )
        console.print(rows)
        for mode in modes:
            if crossed := costs.crossed(mode):
                told = ", ".join(map(str, crossed))
                console.print(f"{name}: the {mode} bound is crossed at {told} attackers", style="bold red")


def picture(found: Mapping[str, AttackCosts]) -> Picture:
    """Left: measured cost and its bounds against k. Right: attackers needed to divide the cost by τ.

    Attacks on one and the same training share their bounds, and a row of the picture.
    """
    from matplotlib.figure import Figure

    rows = _same_bounds(found)
    canvas = Figure(figsize=(11, 4.2 * len(rows)), layout="constrained")
    axes = canvas.subplots(len(rows), 2, squeeze=False)
    for (left, right), row in zip(axes, rows, strict=True):
        first = next(iter(row.values()))
        for number, line in enumerate(first.lines):
            style = {"color": f"C{number}", "linestyle": _STYLES[line.mode]}
            k, what = range(len(line.lower)), title(line.mode, first.unit)
            left.plot(k, line.lower, label=f"bounds, {what}", **style)
            left.plot(k, line.upper, **style)
            reached = [(tau, k) for tau, k in zip(TAUS, line.needed, strict=True) if k is not None]
            if reached:
                right.plot(
                    *zip(*reached, strict=True), marker=".", label=title(line.mode, first.unit), **style
                )
        for number, (name, costs) in enumerate(row.items()):
            _measured(left, name, costs, f"C{number + len(first.lines)}")
        left.set_xlabel("attackers k" if first.unit == "user" else "poisoned examples k")
        left.set_ylabel(f"expected min(cost, {first.cost_bound:g})")
        right.set_xlabel("τ")
        right.set_ylabel("k that it takes to divide the cost by τ")
        left.xaxis.get_major_locator().set_params(integer=True)
        for panel in (left, right):
            panel.set_ylim(bottom=0)
            panel.grid(alpha=0.3)
            panel.legend(fontsize=7)
    return Picture(figure=canvas)


def resolution(found: Mapping[str, AttackCosts]) -> int:
    """Many rows are for an overview."""
    return 150 if len(_same_bounds(found)) < 4 else 80


def _same_bounds(found: Mapping[str, AttackCosts]) -> list[dict[str, AttackCosts]]:
    """The variants in groups that have the same bounds, in the order in which they come."""
    groups: list[dict[str, AttackCosts]] = []
    for name, costs in found.items():
        bounds = costs.cost_bound, costs.lines
        group = next((g for g in groups if _bounds(g) == bounds), None)
        if group is None:
            groups.append({name: costs})
        else:
            group[name] = costs
    return groups


def _bounds(group: Mapping[str, AttackCosts]) -> tuple[float, tuple[Line, ...]]:
    first = next(iter(group.values()))
    return first.cost_bound, first.lines


def _measured(panel: Any, name: str, costs: AttackCosts, colour: str) -> None:
    measured = costs.measured
    panel.errorbar(
        [each.attackers for each in measured],
        [each.mean for each in measured],
        yerr=[[e.mean - e.low for e in measured], [e.high - e.mean for e in measured]],
        marker="o",
        markersize=3,
        linewidth=1,
        color=colour,
        label=f"measured, {name}",
    )


def record(costs: AttackCosts) -> dict[str, Any]:
    """Everything as plain values, for a program to read."""
    return {
        **asdict(costs),
        "taus": list(TAUS),
        "crossed": {c.mode: costs.crossed(c.mode) for c in costs.lines},
    }
