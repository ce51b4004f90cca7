"""What was measured against ε, as tables and a picture with the limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from trainings import RATES

from support import Record, grouped, half_width

COLOURS = {"likelihood ratio": "#0072b2", "likelihood ratio, offline": "#56b4e9", "loss threshold": "#e69f00"}
UNITS = {"user": "users, user-level DP", "example": "examples, example-level DP"}


def show(records: Sequence[Record], picture: Path | None) -> None:
    """Prints means over seeds with Student's interval; draws them if there is a file for it."""
    console = Console(width=150)
    for unit, title in UNITS.items():
        levels = _levels(records, unit)
        table = Table("z", "ε", "attack", "AUC", "at most", "loss", title=f"membership of {title}")
        for rate in RATES:
            table.add_column(f"TPR at {100 * float(rate):g} % FPR, in %")
            table.add_column("at most")
        for group in levels:
            _rows(table, group)
        console.print(table)
    crossed = [record for record in records if record["crossed"]]
    print(f"limits crossed in {len(crossed)} of {len(records)} attacked sets of trainings")
    for record in crossed:
        print(record["name"], record["seed"], record["crossed"])
    if picture is not None:
        _draw(records, picture)


def _rows(table: Table, group: list[Record]) -> None:
    first = group[0]
    limits = first["limit"]["tpr_at_fpr"] or {}
    for place, name in enumerate(COLOURS):
        cells = []
        for rate in RATES:
            cells += [
                _words(100 * _tpr(group, name, rate), 2),
                f"{100 * limits[rate]:.1f}" if limits else "-",
            ]
        limit = first["limit"]["auc"]
        lost = f"{_mean(group, 'member_loss'):.2f} in, {_mean(group, 'other_loss'):.2f} out"
        table.add_row(
            "" if place else _number(first["noise"]),
            "" if place else _number(first["epsilon"]),
            name,
            _words(_auc(group, name), 3),
            "-" if limit is None else f"{limit:.3f}",
            "" if place else lost,
            *cells,
        )


def _draw(records: Sequence[Record], picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9.0, 6.4), sharex="col")
    for column, (unit, title) in enumerate(UNITS.items()):
        noisy = sorted((g for g in _levels(records, unit) if g[0]["noise"]), key=lambda g: g[0]["epsilon"])
        silent = next((group for group in _levels(records, unit) if not group[0]["noise"]), None)
        epsilon = [group[0]["epsilon"] for group in noisy]
        last = epsilon[-1] * 3
        for place, (name, colour) in enumerate(COLOURS.items()):
            beside = 1.06 ** (place - 1)  # so that intervals do not hide each other
            for row, measure in enumerate((_auc, _tpr_at_one_percent)):
                axis: Any = axes[row][column]
                style: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 4, "capsize": 3}
                axis.errorbar(
                    [beside * each for each in epsilon],
                    **_bars([measure(g, name) for g in noisy]),
                    **style,
                    label=name,
                )
                if silent is not None:
                    axis.errorbar([beside * last], **_bars([measure(silent, name)]), **style)
        limits = [group[0]["limit"] for group in noisy]
        black: dict[str, Any] = {"color": "black", "linestyle": "--", "label": "no attack finds more"}
        axes[0][column].plot(epsilon, [limit["auc"] for limit in limits], **black)
        axes[1][column].plot(epsilon, [limit["tpr_at_fpr"]["0.01"] for limit in limits], **black)
        axes[1][column].axhline(0.01, color="0.6", linewidth=0.8, zorder=0)
        axes[0][column].axhline(0.5, color="0.6", linewidth=0.8, zorder=0)
        axes[0][column].set(title=f"{title}", xscale="log", ylabel="AUC")
        axes[1][column].set(
            xlabel="ε at δ = $10^{-5}$", ylabel="TPR at 1 % FPR", yscale="log", ylim=(2e-3, 1.3)
        )
        ticks = [round(each, 1) if each < 10 else round(each) for each in epsilon]
        axes[1][column].set_xticks([*epsilon, last], [*map(str, ticks), "none"])
        axes[1][column].minorticks_off()
    lines, names = axes[0][0].get_legend_handles_labels()
    figure.legend(lines, names, loc="upper center", ncols=4, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    figure.savefig(picture, dpi=120)


def _bars(values: list[NDArray[np.float64]]) -> dict[str, Any]:
    return {
        "y": [float(each.mean()) for each in values],
        "yerr": [half_width(each) if len(each) > 1 else 0.0 for each in values],
    }


def _levels(records: Sequence[Record], unit: str) -> list[list[Record]]:
    """The records of each noise level; without noise first, then by noise."""
    groups = grouped(record for record in records if record["unit"] == unit).values()
    return sorted(groups, key=lambda group: group[0]["noise"] or 0.0)


def _auc(group: Sequence[Record], attack: str) -> NDArray[np.float64]:
    return np.array([record["attacks"][attack]["auc"] for record in group])


def _tpr(group: Sequence[Record], attack: str, rate: str) -> NDArray[np.float64]:
    """NaN where a rate cannot be resolved."""
    found = [record["attacks"][attack]["tpr"][rate] for record in group]
    return np.array([np.nan if value is None else value for value in found])


def _tpr_at_one_percent(group: Sequence[Record], attack: str) -> NDArray[np.float64]:
    return _tpr(group, attack, "0.01")


def _mean(group: Sequence[Record], key: str) -> float:
    return float(np.mean([record[key] for record in group]))


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"


def _words(values: NDArray[np.float64], digits: int) -> str:
    if len(values) < 2:
        return f"{values.mean():.{digits}f}"
    return f"{values.mean():.{digits}f} ± {half_width(values):.{digits}f}"
