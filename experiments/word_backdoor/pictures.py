"""What the trainings on blogs gave, as a table and a picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
from bloggers import Size
from defences import DEFENCES
from rich.console import Console
from rich.table import Table

from support import Record, grouped, interval


def spent(defence: str, size: Size) -> str:
    """ε after all rounds, at δ = N^-1.1, by the accountants of the papers and of Poisson sampling."""
    algorithm = DEFENCES[defence](size)
    if algorithm.unproven:
        return "no guarantee"
    papers, proven = (
        algorithm.guarantee(size.users, size.rounds, size.users**-1.1, mode).epsilon
        for mode in ("moments", "rdp")
    )
    return f"{papers:.3g} / {proven:.3g}"


def tables(records: list[Record], size: Size) -> None:
    """Attack success and word accuracy for each defence and number of attackers."""
    columns = (
        "defence",
        "rounds",
        "ε (moments / rdp)",
        "attackers",
        "word accuracy, %",
        "loss",
        "success, %",
    )
    table = Table(*columns, "J", "seeds")
    for found in sorted(
        grouped(records).values(),
        key=lambda g: (g[0]["rounds"], list(DEFENCES).index(g[0]["defence"]), g[0]["attackers"]),
    ):
        table.add_row(
            found[0]["defence"],
            str(found[0]["rounds"]),
            spent(found[0]["defence"], replace(size, rounds=found[0]["rounds"])),
            str(found[0]["attackers"]),
            interval([r["accuracy"] for r in found]),
            f"{np.mean([r['loss'] for r in found]):.2f}",
            interval([r["attack_success"] for r in found]),
            f"{np.mean([r['attack_cost'] for r in found]):.2f}",
            str(len(found)),
        )
    Console(width=130).print(table)


def draw(records: list[Record], file: Path) -> None:
    """Bars are means, dots are seeds; one colour for each number of attackers."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    counts = sorted({r["attackers"] for r in records})
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
    height = 0.8 / max(len(counts), 1)
    for place, defence in enumerate(DEFENCES):
        for number, attackers in enumerate(counts):
            found = [r for r in records if (r["defence"], r["attackers"]) == (defence, attackers)]
            at = len(DEFENCES) - place + (0.5 * (len(counts) - 1) - number) * height
            for axis, key in zip(axes, ("accuracy", "attack_success"), strict=True):
                values = [100 * r[key] for r in found]
                if values:
                    axis.barh(at, np.mean(values), 0.9 * height, color=f"C{number}")
                    axis.plot(values, [at] * len(values), "k.", ms=4)
    axes[0].set_yticks(range(len(DEFENCES), 0, -1), list(DEFENCES))
    axes[0].set(title="word accuracy, %", xlim=(0, None))
    axes[1].set(title="attack success, %", xlim=(0, 100))
    handles = [mpl.patches.Patch(color=f"C{n}", label=f"{k} attackers") for n, k in enumerate(counts)]
    axes[1].legend(handles=handles, loc="lower right")
    figure.suptitle("Three sentences about London among 500 bloggers: bars are means, dots are seeds")
    figure.savefig(file, dpi=110)
    plt.close(figure)
