"""Tables of what inference attacks found, and their ROC curves beside the limit that privacy sets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from fedward.attacks.inference import RATES, Limit, Membership, Property, Roc
from fedward.attacks.inference.auc import Interval
from fedward.report.numbers import many
from fedward.report.pictures.picture import Picture, label, panels
from fedward.report.terminal.console import say
from fedward.report.terminal.console import table as table_of

_RED = "bold red"
_ALLOWED = "most that privacy allows"


def membership(console: Console, found: Membership) -> None:
    """Every attack in a row, the limit below them, and in words what the numbers are about."""
    console.print(_table(found.attacks, found.limit, f"membership of {found.unit}s"))
    first = next(iter(found.attacks.values()))
    say(
        console,
        f"{first.positives:,} {found.unit}s that were trained on and {first.negatives:,} that were not, over "
        f"{many(found.targets, 'attacked training')}; {found.shadows} shadow trainings",
        f"mean loss {found.member_loss:.4f} on {found.unit}s trained on, {found.other_loss:.4f} on others",
        *_unresolved(first, f"{found.unit}s not trained on"),
        _about(found.limit),
    )
    say(console, *(f"{name}: {_crossed(where)}" for name, where in found.crossed.items()), style=_RED)


def property(console: Console, found: Property, accuracy: float | None) -> None:
    """The attack in a row, the limit below it, and in words what the numbers are about."""
    roc, title = found.roc, "property of the victim's data in a round"
    console.print(_table({"property inference": roc}, found.limit, title))
    say(
        console,
        f"{roc.positives} rounds with the property and {roc.negatives} without it",
        *_unresolved(roc, "rounds without the property"),
        None if accuracy is None else f"accuracy of the model on its main task {accuracy:.2%}",
        _about(found.limit),
    )
    say(console, _crossed(found.crossed) if found.crossed else None, style=_RED)


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


def _about(limit: Limit) -> str:
    return f"{_ALLOWED}: {limit.about}" if limit.promised else limit.about


def _unresolved(roc: Roc, which: str) -> list[str]:
    """What cannot be said, and what it would take."""
    return [
        f"a false positive rate of {rate:g} needs at least {round(1 / rate):,} {which}, got {roc.negatives:,}"
        for rate in roc.unresolved
    ]


def _crossed(where: tuple[str, ...]) -> str:
    return f"more than the guarantee allows ({', '.join(where)}): it does not hold, or not for this attack"


def draw(
    curves: Mapping[str, Roc], limit: Limit, path: Path, *, title: str, logarithmic: bool = True
) -> None:
    """ROC curves with their intervals at a few rates, the diagonal, and the limit: beyond it is shaded."""
    figure, ((panel,),) = panels(1, 1, (5.2, 4.6))
    # What lies below one false positive cannot be measured.
    least = 1 / max(roc.negatives for roc in curves.values()) if logarithmic else 0.0
    for number, (name, roc) in enumerate(curves.items()):
        colour, auc = f"C{number}", f"{name}, AUC {roc.auc.value:.3f}"
        panel.step(roc.fpr, roc.tpr, where="post", label=auc, color=colour, linewidth=1.3)
        for point in roc.points:
            x = max(point.fpr.value, least) * (1 + 0.02 * number)  # so that they do not hide each other
            tpr = point.tpr
            around = [[tpr.value - tpr.low], [tpr.high - tpr.value]]
            panel.errorbar(x, tpr.value, yerr=around, color=colour, linewidth=0.8, capsize=2)
    grid = np.geomspace(least, 1, 200) if logarithmic else np.linspace(0, 1, 200)
    if limit.promised:
        most = limit.most(grid)
        panel.plot(grid, most, color="black", linestyle="--", linewidth=1.2, label=_ALLOWED)
        panel.fill_between(grid, most, 1, color="black", alpha=0.08, linewidth=0)
    panel.plot(grid, grid, color="grey", linestyle=":", linewidth=1, label="by guessing")
    if logarithmic:
        panel.set_xscale("log")
        panel.set_yscale("log")
    panel.set_xlim(least, 1)
    panel.set_ylim(least, 1)
    label(panel, x="false positive rate", y="true positive rate", title=title, legend=0)
    panel.grid(alpha=0.3, which="both", linewidth=0.5)
    panel.legend(fontsize=7, loc="lower right")
    Picture(figure=figure).save(path)
