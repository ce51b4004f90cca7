"""Tables 2 and 4 of Xie et al.: clean accuracy on MNIST 0/1 against the noise, the paper's and ours.

    python experiments/xie_tables/run.py --data DIR [--replicas 1000] [--still 100] [--small] [--show]

The trainings are those of figures 1(a) and 1(c), in the same run directories (runs/xie-users and
runs/xie-examples), so that nothing is trained twice; and some without noise. They are gone on with
after a kill. ``--show`` trains nothing and takes what is finished. The tables are kept beside this file, as
JSON, in the page and as a picture.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl

sys.path.append(str(Path(__file__).parents[1]))  # for what the experiments share, beside their folders
from certification import Record, fedward, options, varied
from rich.console import Console
from rich.table import Table
from rows import HERE, TABLES, PaperTable, rows

from published import place_of
from support import markdown, put_between

SMALL = {2: (1.0, 3.0), 4: (1.0, 15.0)}
HEAD = ("σ", "ε, paper", "`moments`", "`pld`", "accuracy, paper", "accuracy, here (95 % interval)")
HEAD += ("deviation of one run", "M", "the paper's lies in it")


def train(table: PaperTable, levels: tuple[float, ...], chosen: Any) -> None:
    """Trains what is not finished yet."""
    fedward("replicas", table.file, chosen, table.run, *varied(table.key, levels))
    few = argparse.Namespace(**vars(chosen) | {"replicas": min(chosen.replicas, chosen.still)})
    for run, file, changes in table.still:
        fedward("replicas", file, few, run, *changes)


def cells(row: Record) -> list[str]:
    """A row as it is printed."""
    noise = f"{row['noise_multiplier']:g}" + (f", {row['what']}" if "what" in row else "")
    spent = [f"{row[key]:.4f}" for key in ("papers_epsilon", "moments", "pld") if key in row] or ["∞"] * 3
    return [
        noise,
        *spent,
        f"{row['papers_accuracy']:.2f}",
        f"{row['accuracy']:.2f} ({row['low']:.2f} to {row['high']:.2f})",
        f"{row['deviation']:.2f}",
        f"{row['replicas']:,}",
        "yes" if row["inside"] else f"no: ours is {row['accuracy'] - row['papers_accuracy']:+.2f}",
    ]


def picture(found: dict[str, list[Record]], file: Path) -> None:
    """Measured with its band, and the paper's points; the axis shows how far it is to 100 %."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for axis, table in zip(axes, TABLES, strict=True):
        noisy = [row for row in found[table.name] if row["noise_multiplier"]]
        if noisy:
            at = [row["noise_multiplier"] for row in noisy]
            low, high = ([row[key] for row in noisy] for key in ("low", "high"))
            replicas = f"M = {noisy[0]['replicas']:,}"
            axis.plot(at, [row["accuracy"] for row in noisy], ".-", label=f"here, {replicas}")
            axis.fill_between(at, low, high, alpha=0.25, lw=0, label="95 % interval of the mean")
            deviation = [(row["accuracy"], row["deviation"]) for row in noisy]
            axis.fill_between(
                at,
                [mean - one for mean, one in deviation],
                [min(100.0, mean + one) for mean, one in deviation],
                color="0.5",
                alpha=0.15,
                lw=0,
                label="one run: ± its deviation",
            )
        axis.plot(
            list(table.printed),
            [accuracy for _, accuracy in table.printed.values()],
            "kx",
            label="paper, 1,000 runs",
        )
        axis.set(xlabel="noise multiplier σ", ylabel="test accuracy, %", ylim=(50, 101))
        axis.set_title(f"Table {table.number}: {table.algorithm}")
        axis.legend(loc="lower left", fontsize=8)
    figure.savefig(file, dpi=120)


def main() -> None:
    assert __doc__
    chosen = options(__doc__, replicas=1000, still=100, show="train nothing; print and draw what is finished")
    place, small = place_of(chosen, HERE), "-small" if chosen.small else ""
    if small:
        chosen.replicas, chosen.still, chosen.runs = min(chosen.replicas, 4), 2, chosen.runs / "small"
    found: dict[str, list[Record]] = {}
    for table in TABLES:
        levels = SMALL[table.number] if small else tuple(table.printed)
        if not chosen.show:
            train(table, levels, chosen)
        found[table.name] = rows(table, chosen.runs, levels)
        record = place.file(f"{table.name}{small}.json")
        record.write_text(json.dumps(found[table.name], indent=1) + "\n")
        lines = [cells(row) for row in found[table.name]]
        shown = Table(*HEAD, title=f"Table {table.number}: {table.algorithm}")
        for line in lines:
            shown.add_row(*line)
        Console(width=150).print(shown)
        if place.publishes:
            place.publish(record.name)
            put_between(HERE / "README.md", table.name, markdown(HEAD, lines))
    picture(found, place.file(f"accuracy{small}.png"))
    place.publish("accuracy.png")


if __name__ == "__main__":
    main()
