"""Attack cost against the number of attackers: a table, and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fedward.experiment.attack_costs import TAUS, AttackCosts
from fedward.report.certified_accuracy import TITLES

_STYLES = {"paper": ":", "inject": "-", "present": "-.", "compromise": "--"}


def table(console: Console, found: Mapping[str, AttackCosts]) -> None:
    """Measured cost beside the bounds, for each number of attackers."""
    for name, costs in found.items():
        modes = [line.mode for line in costs.lines]
        rows = Table("attackers", "measured cost", "95 % interval", *(f"least, {mode}" for mode in modes))
        rows.title = f"{name}: expected min(cost, {costs.cost_bound:g})"
        for column in rows.columns:
            column.justify = "right"
        for each in costs.measured:
            rows.add_row(
                str(each.attackers),
                f"{each.mean:.4f}",
                f"{each.low:.4f} to {each.high:.4f}",
                *(f"{line.lower[each.attackers]:.4f}" for line in costs.lines),
            )
        console.print(rows)
        for mode in modes:
            if crossed := costs.crossed(mode):
                told = ", ".join(map(str, crossed))
                console.print(f"{name}: the {mode} bound is crossed at {told} attackers", style="bold red")


def draw(found: Mapping[str, AttackCosts], path: Path) -> None:
    """Left: measured cost and its bounds against k. Right: attackers needed to divide the cost by τ."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(11, 4.2), layout="constrained")
    left, right = canvas.subplots(1, 2)
    first = next(iter(found.values()))
    for number, line in enumerate(first.lines):
        style = {"color": f"C{number}", "linestyle": _STYLES[line.mode]}
        k = range(len(line.lower))
        left.plot(k, line.lower, label=f"bounds, {TITLES[line.mode]}", **style)
        left.plot(k, line.upper, **style)
        reached = [(tau, k) for tau, k in zip(TAUS, line.needed, strict=True) if k is not None]
        right.plot(*zip(*reached, strict=True), marker=".", label=TITLES[line.mode], **style)
    for number, (name, costs) in enumerate(found.items()):
        measured = costs.measured
        left.errorbar(
            [each.attackers for each in measured],
            [each.mean for each in measured],
            yerr=[[e.mean - e.low for e in measured], [e.high - e.mean for e in measured]],
            marker="o",
            markersize=3,
            linewidth=1,
            color=f"C{number + len(first.lines)}",
            label=f"measured, {name}",
        )
    left.set_xlabel("attackers k")
    left.set_ylabel(f"expected min(cost, {first.cost_bound:g})")
    right.set_xlabel("τ")
    right.set_ylabel("attackers needed to divide the cost by τ")
    left.xaxis.get_major_locator().set_params(integer=True)
    for panel in (left, right):
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
        panel.legend(fontsize=7)
    canvas.savefig(path, dpi=150)


def record(costs: AttackCosts) -> dict[str, Any]:
    """Everything as plain values, for a program to read."""
    return {
        **asdict(costs),
        "taus": list(TAUS),
        "crossed": {c.mode: costs.crossed(c.mode) for c in costs.lines},
    }
