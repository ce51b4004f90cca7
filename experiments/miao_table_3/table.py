"""What was measured, as a table and a picture beside what the paper prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from support import Record, grouped, half_width

PAPER = {
    "none": {2: (91.67, 0.81), 3: (92.30, 0.78), 4: (92.40, 0.74), 5: (92.03, 0.71)},
    "DP": {2: (34.04, 0.53), 3: (41.40, 0.49), 4: (58.32, 0.53), 5: (62.11, 0.50)},
    "CND": {2: (52.30, 0.50), 3: (65.76, 0.49), 4: (65.72, 0.50), 5: (69.44, 0.51)},
}
"""By defence and number of clients: accuracy of the main task in percent, AUC."""
NAMES = {"none": "no defence", "DP": "DP", "CND": "CND"}
COLOURS = {"none": "#0072b2", "DP": "#d55e00", "CND": "#009e73"}


def show(records: Sequence[Record], picture: Path | None) -> None:
    """Prints the means of each cell with Student's interval; draws them if there is a file for it."""
    table = Table("defence", "users", "AUC, paper", "AUC", "accuracy, paper", "accuracy", "balanced", "seeds")
    cells = {(group[0]["defence"], group[0]["users"]): group for group in grouped(records).values()}
    for (defence, users), group in sorted(cells.items(), key=lambda each: (-len(each[0][0]), each[0])):
        accuracy, area = PAPER[defence].get(users, (None, None))
        table.add_row(
            defence,
            str(users),
            "-" if area is None else f"{area:.2f}",
            _words(_values(group, "auc"), 3),
            "-" if accuracy is None else f"{accuracy:.1f}",
            _words(100 * _values(group, "accuracy"), 1),
            _words(100 * _values(group, "balanced_accuracy"), 1),
            str(len(group)),
        )
    Console(width=140).print(table)
    for defence in PAPER:
        chosen = [record for record in records if record["defence"] == defence and record["users"] <= 5]
        if chosen:
            print(f"{defence}, 2 to 5 users together: AUC {_words(_values(chosen, 'auc'), 3)}")
    print(f"limits crossed: {sum(len(record['crossed']) for record in records)} of {len(records)} trainings")
    if picture is not None:
        _draw(cells, picture)


def _draw(cells: dict[tuple[str, int], list[Record]], picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0))
    for place, (defence, colour) in enumerate(COLOURS.items()):
        measured = {
            users: _values(group, "auc") for (name, users), group in sorted(cells.items()) if name == defence
        }
        where = [users + 0.06 * (place - 1) for users in measured]
        axes.errorbar(
            where,
            [float(values.mean()) for values in measured.values()],
            yerr=[half_width(values) if len(values) > 2 else 0.0 for values in measured.values()],
            color=colour,
            marker="o",
            capsize=3,
            label=NAMES[defence],
        )
        printed = PAPER[defence]
        axes.plot(
            list(printed),
            [area for _, area in printed.values()],
            color=colour,
            linestyle=":",
            marker="x",
            label=f"{NAMES[defence]}, Miao et al.",
        )
    axes.axhline(0.5, color="0.6", linewidth=0.8, zorder=0)
    axes.set(xlabel="users", ylabel="AUC of property inference", ylim=(0.3, 1.02), xticks=[2, 3, 4, 5, 10])
    axes.legend(fontsize=8, ncols=2)
    figure.tight_layout()
    figure.savefig(picture, dpi=120)


def _values(group: Sequence[Record], key: str) -> NDArray[np.float64]:
    return np.array([record[key] for record in group], dtype=np.float64)


def _words(values: NDArray[np.float64], digits: int) -> str:
    """Of two values Student's interval is wider than all that is possible."""
    if len(values) < 3:
        return f"{values.mean():.{digits}f}"
    return f"{values.mean():.{digits}f} ± {half_width(values):.{digits}f}"
