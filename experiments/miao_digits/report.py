"""The tables and pictures of run.py."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import printed
from printed import WEIGHT_DECAY
from rich.console import Console
from rich.table import Table
from settings import ATTACKERS, DECAYS, DEFENCES, decayed, defended

from support import Record, band, interval, markdown, put_between

Groups = Mapping[str, list[Record]]
MEASURES = {"accuracy": "accuracy, %", "attack_success": "attack success, %"}


def show(groups: Groups, spent: Mapping[str, str], folder: Path, size: str, page: Path | None) -> None:
    """Prints the tables, draws the pictures, and puts the tables into the page where they are published."""
    tables = {"table_2": table_2(groups), "figure_9": figure_9(groups, spent)}
    for name, (head, rows) in tables.items():
        shown = Table(*head, title=name)
        for row in rows:
            shown.add_row(*row)
        Console(width=150).print(shown)
        if page is not None:
            put_between(page, name, markdown(head, rows))
    mpl.use("Agg")
    draw_table_2(groups, folder / f"table_2{size}.png")
    draw_figure_9(groups, folder / f"figure_9{size}.png")


def last(found: list[Record], key: str) -> str:
    return interval(record[key][-1] for record in found) if found else "-"


def table_2(groups: Groups) -> tuple[list[str], list[list[str]]]:
    head = ["weight decay", "accuracy, paper", "accuracy, here", "success, paper", "success, here", "seeds"]
    rows = []
    for decay, (accuracy, success) in WEIGHT_DECAY.items():
        found = groups.get(decayed(decay), [])
        ours = [last(found, key) for key in MEASURES]
        rows.append([f"{decay:g}", f"{accuracy:.2f}", ours[0], f"{success:.2f}", ours[1], str(len(found))])
    return head, rows


def figure_9(groups: Groups, spent: Mapping[str, str]) -> tuple[list[str], list[list[str]]]:
    head = ["defence", "the paper's text", "ε (`moments` / `rdp`)"]
    head += [f"{label}, {each} of 20" for each in ATTACKERS for label in ("accuracy", "success")] + ["seeds"]
    rows = []
    for defence in DEFENCES:
        found = [groups.get(defended(defence, each), []) for each in ATTACKERS]
        ours = [last(records, key) for records in found for key in MEASURES]
        seeds = {len(records) for records in found}
        rows.append(
            [defence, printed.DEFENCES[defence], spent[defence], *ours, ", ".join(map(str, sorted(seeds)))]
        )
    return head, rows


def draw_table_2(groups: Groups, file: Path) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    at = np.arange(len(DECAYS))
    for axis, (place, (key, label)) in zip(axes, enumerate(MEASURES.items()), strict=True):
        seeds = [[100 * record[key][-1] for record in groups.get(decayed(decay), [])] for decay in DECAYS]
        if all(seeds):
            axis.plot(at, [np.mean(values) for values in seeds], "o-", label="here, mean")
            for number, values in enumerate(seeds):
                axis.plot([number] * len(values), values, "k.", ms=4, label="" if number else "here, seeds")
        axis.plot(at, [WEIGHT_DECAY[decay][place] for decay in DECAYS], "rx", ms=9, label="paper, EMNIST")
        axis.set_xticks(at, [f"{decay:g}" for decay in DECAYS])
        axis.set(xlabel="weight decay", ylabel=label, ylim=(85 if key == "accuracy" else -2, 102))
        axis.legend(fontsize=8, loc="lower left")
    figure.suptitle("Table 2: weight decay against the single pixel, 4 of 20 attack")
    figure.savefig(file, dpi=120)


def draw_figure_9(groups: Groups, file: Path) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained", sharex=True, sharey=True)
    for row, each in zip(axes, ATTACKERS, strict=True):
        for axis, (key, label) in zip(row, MEASURES.items(), strict=True):
            for number, defence in enumerate(DEFENCES):
                found = groups.get(defended(defence, each), [])
                if found:
                    curve(axis, found, key, defence, number)
            axis.set(title=f"{each} of 20 attack", ylabel=label, xlabel="round", ylim=(-2, 102))
    axes[0, 0].legend(fontsize=8, loc="lower right")
    figure.suptitle("Figure 9: defences against the single pixel; mean over seeds, bands from least to most")
    figure.savefig(file, dpi=120)


def curve(axis: Any, found: list[Record], key: str, name: str, number: int) -> None:
    mean, least, most = (100 * part for part in band(found, key))
    # Weak DP lies on Norm Bounding.
    axis.plot(found[0]["round"], mean, "--" if name == "Weak DP" else "-", color=f"C{number}", label=name)
    axis.fill_between(found[0]["round"], least, most, color=f"C{number}", alpha=0.12, lw=0)
