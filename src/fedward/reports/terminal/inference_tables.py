"""Tables of what inference attacks found, and their ROC curves beside the limit that privacy sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from fedward.attacks.inference import RATES, Limit, Membership, Property, Roc
from fedward.attacks.inference.auc import Interval
from fedward.reports.pictures.picture import Picture
from fedward.reports.pictures.sketch import Sketch
from fedward.reports.templates import lines
from fedward.reports.terminal.console import say
from fedward.reports.terminal.console import table as table_of
from fedward.rundir.inference_record import PROPERTY

_ALLOWED = "most that privacy allows"


def curves_of(found: Membership | Property) -> Mapping[str, Roc]:
    """The ROC curve of every attack, by its name."""
    return found.attacks if isinstance(found, Membership) else {PROPERTY: found.roc}


def result(console: Console, found: Membership | Property, accuracy: float | None = None) -> None:
    """Every attack in a row, the limit below them, and in words what the numbers are about."""
    attacks, unit = curves_of(found), found.unit if isinstance(found, Membership) else ""
    title = f"membership of {unit}s" if unit else "property of the victim's data in a round"
    console.print(_table(attacks, found.limit, title))
    about = {"found": found, "roc": next(iter(attacks.values())), "unit": unit}
    say(console, *lines("terminal/inference.txt", accuracy=accuracy, **about))
    for name, roc in attacks.items():
        if where := found.limit.crossed(roc):
            who = f"{name}: " if unit else ""
            told = f"{who}more than the guarantee allows ({', '.join(where)}): "
            say(console, f"{told}it does not hold, or not for this attack", style="bold red")


def _table(attacks: Mapping[str, Roc], limit: Limit, title: str) -> Table:
    rows = []
    for name, roc in attacks.items():
        points = [roc.at(rate) for rate in RATES]
        cells = ["-" if point is None else _share(point.tpr) for point in points]
        rows.append([name, str(roc.auc), *cells, f"{roc.best_accuracy:.1%}"])
    if limit.promised:
        rates = np.linspace(0, 1, 1001)
        best = (1 + float((limit.most(rates) - rates).max())) / 2
        cells = [f"{float(limit.most(rate)):.2%}" for rate in RATES]
        rows.append([_ALLOWED, f"{limit.auc:.3f}", *cells, f"{best:.1%}"])
    headings = ["attack", "AUC", *(f"TPR at {rate:g} FPR" for rate in RATES), "balanced accuracy"]
    return table_of(headings, rows, title=title)


def _share(found: Interval) -> str:
    return f"{found.value:.2%} ({found.low:.2%} to {found.high:.2%})"


def picture(curves: Mapping[str, Roc], limit: Limit, *, title: str, logarithmic: bool = True) -> Picture:
    """ROC curves with their intervals at a few rates, the diagonal, and the limit: beyond it is shaded."""
    sketch = Sketch([title], (5.2, 4.6))
    (panel,) = sketch.panels
    axes = panel.axes
    # What lies below one false positive cannot be measured.
    least = 1 / max(roc.negatives for roc in curves.values()) if logarithmic else 0.0
    for number, (name, roc) in enumerate(curves.items()):
        shape: dict[str, Any] = {"linestyle": "-", "marker": None, "drawstyle": "steps-post"}
        auc = f"{name}, AUC {roc.auc.value:.3f}"
        panel.line(name, roc.fpr.tolist(), roc.tpr.tolist(), number=number, label=auc, linewidth=1.3, **shape)
        for point in roc.points:
            x = max(point.fpr.value, least) * (1 + 0.02 * number)  # so that they do not hide each other
            tpr = point.tpr
            around = [[tpr.value - tpr.low], [tpr.high - tpr.value]]
            axes.errorbar(x, tpr.value, yerr=around, color=panel.colour(number), linewidth=0.8, capsize=2)
    grid = np.geomspace(least, 1, 200) if logarithmic else np.linspace(0, 1, 200)
    if limit.promised:
        most = limit.most(grid)
        black: dict[str, Any] = {"color": "black", "linestyle": "--", "marker": None, "linewidth": 1.2}
        panel.line(_ALLOWED, grid.tolist(), most.tolist(), **black)
        axes.fill_between(grid, most, 1, color="black", alpha=0.08, linewidth=0)
    axes.plot(grid, grid, color="grey", linestyle=":", linewidth=1, label="by guessing")
    if logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
    axes.set_xlim(least, 1)
    axes.set_ylim(least, 1)
    panel.label(x="false positive rate", y="true positive rate")
    axes.grid(alpha=0.3, which="both", linewidth=0.5)
    panel.legend(loc="lower right")
    return sketch.picture()
