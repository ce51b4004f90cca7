"""What the trainings on tweets gave, as tables and a picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table

from support import Record, grouped, interval


def tables(records: list[Record]) -> None:
    """Accuracy, attack success and the seeds' share of the larger class, for each setting."""
    table = Table(
        "setting", "accuracy, %", "minus majority", "positive called negative, %", "J", "seeds", "CPU, s"
    )
    for name, found in grouped(records).items():
        last = {key: [r[key][-1] for r in found] for key in ("accuracy", "attack_success", "attack_cost")}
        above = [r["accuracy"][-1] - r["majority"] for r in found]
        table.add_row(
            name,
            interval(last["accuracy"]),
            interval(above),
            interval(last["attack_success"]),
            f"{np.mean(last['attack_cost']):.2f}",
            str(len(found)),
            f"{np.mean([r['cpu_seconds'] for r in found]):.0f}",
        )
    console = Console(width=140)
    console.print(table)
    console.print("majority, %:", interval([r["majority"] for r in records]))


def draw(records: list[Record], file: Path) -> None:
    """Accuracy over rounds without attack; accuracy and success against the number of attackers."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    groups = grouped(records)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    clean = {"FedAvg": "FedAvg, 0 flip", "user DP, z = 1": "user DP, z = 1, 0 flip"}
    for colour, (label, name) in enumerate(clean.items()):
        for place, record in enumerate(groups.get(name, [])):
            values = 100 * np.array(record["accuracy"])
            left.plot(record["round"], values, f"C{colour}o-", ms=3, label=label if place == 0 else None)
    for place, record in enumerate(groups.get("from the start, FedAvg", [])):
        label = None if place else "FedAvg, from the start"
        left.plot(record["round"], 100 * np.array(record["accuracy"]), "C2s-", ms=3, label=label)
    majority = 100 * float(np.mean([r["majority"] for r in records]))
    left.axhline(majority, color="grey", ls=":", label="all called positive")
    left.set(title="nobody attacks", xlabel="round", ylabel="accuracy on unseen users, %")
    left.legend()
    for axis, key, title in (
        (middle, "accuracy", "accuracy, %"),
        (right, "attack_success", "positive tweets called negative, %"),
    ):
        for colour, kind in enumerate(clean):
            found = [
                (r["attackers"], 100 * r[key][-1])
                for r in records
                if r["name"].startswith(f"{kind},") and r["name"].endswith(" flip")
            ]
            counts = sorted({k for k, _ in found})
            means = [np.mean([v for k, v in found if k == count]) for count in counts]
            axis.plot([100 * k / 1700 for k in counts], means, f"C{colour}-", label=kind)
            axis.plot([100 * k / 1700 for k, _ in found], [v for _, v in found], f"C{colour}o", ms=4)
        axis.set(title=title, xlabel="users that flip labels, %")
        axis.legend()
    middle.axhline(majority, color="grey", ls=":")
    figure.suptitle("Sentiment140 by real users: dots are seeds, lines their means")
    figure.savefig(file, dpi=110)
    plt.close(figure)
