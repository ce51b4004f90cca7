"""The tables and the picture of run.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table

from support import Record, interval

Groups = Mapping[str, list[Record]]
LAST = 3
"""Success swings from round to round, so it is a mean over the last rounds."""
COMPARED = {
    "data, 4 of 10, rate 0.5": "data, 2 of 10",
    "data, 4 of 10, weight decay 0.005": "data, 4 of 10",
    "data, 4 of 10, weight decay 0.05": "data, 4 of 10",
    "replacement, 4 of 10, CND, z = 4": "replacement, 4 of 10, CDP, z = 4",
    "replacement, 4 of 10, CND, z = 14": "replacement, 4 of 10, CDP, z = 14",
}


def show(groups: Groups, spent: Mapping[str, str], attacked: Sequence[int], file: Path) -> None:
    """Prints the tables and draws the picture.

    Args:
      groups: the finished trainings by setting.
      spent: what each setting says of its ε.
      attacked: the rounds in which models are replaced, counted from 0.
    """
    console = Console(width=190)
    poisoned = Table("poisoned data", "accuracy, %", "success, last 3 rounds, %", "seeds")
    after = [f"round {number + 1}" for number in attacked]
    replaced = Table(
        "replacement", "ε", "accuracy before", *after, "end", "success before", *after, "end", "seeds"
    )
    moments = [attacked[0] - 1, *attacked, -1]
    for name, found in groups.items():
        study, _, how = name.partition(", ")
        if study == "data":
            accuracy = interval(r["accuracy"][-1] for r in found)
            poisoned.add_row(how, accuracy, interval(map(last, found)), str(len(found)))
        else:
            cells = [
                interval(r[key][number] for r in found)
                for key in ("accuracy", "attack_success")
                for number in moments
            ]
            replaced.add_row(how, spent[name], *cells, str(len(found)))
    console.print(poisoned, replaced, pairs(groups))
    picture(groups, attacked, file)


def pairs(groups: Groups) -> Table:
    """Differences between two settings, seed by seed."""
    table = Table("seed by seed", "accuracy, points", "success, points", "seeds")
    for name, other in COMPARED.items():
        ours, theirs = ({r["seed"]: r for r in groups.get(each, [])} for each in (name, other))
        seeds = sorted(ours.keys() & theirs.keys())
        if seeds:
            table.add_row(
                f"{name} minus {other}",
                interval(ours[seed]["accuracy"][-1] - theirs[seed]["accuracy"][-1] for seed in seeds),
                interval(last(ours[seed]) - last(theirs[seed]) for seed in seeds),
                str(len(seeds)),
            )
    return table


def last(record: Record) -> float:
    return float(np.mean(record["attack_success"][-LAST:]))


def picture(groups: Groups, attacked: Sequence[int], file: Path) -> None:
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained", sharex=True, sharey="row")
    for column, study in enumerate(("data", "replacement")):
        for name, found in groups.items():
            if not name.startswith(study) or "weight decay" in name:
                continue
            for row, key in enumerate(("attack_success", "accuracy")):
                curves = 100 * np.array([[r["start"][key], *r[key]] for r in found])
                axes[row, column].plot(curves.mean(0), ".-", label=name.removeprefix(f"{study}, "))
        axes[1, column].set_xlabel("round")
        axes[0, column].legend(fontsize=7, ncol=2, loc="upper center")
    for number in attacked:
        for axis in axes[:, 1]:
            axis.axvline(number + 1, color="0.8", zorder=0)
    axes[0, 0].set_title("poisoned data in every round")
    axes[0, 1].set_title("the model is replaced in the grey rounds")
    axes[0, 0].set(ylim=(-3, 140), yticks=range(0, 101, 20))  # room for the legends
    axes[1, 0].set_ylim(0, None)
    axes[0, 0].set_ylabel("red cars called bird, %")
    axes[1, 0].set_ylabel("accuracy on the other pictures, %")
    figure.suptitle("Red cars are birds: means over seeds")
    figure.savefig(file, dpi=120)
