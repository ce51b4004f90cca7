"""The first picture of the README: certified accuracy against k, and what k attackers really achieve."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fedward.certificates.certificate_file import loads

MARKS = {
    "inner product": "o",
    "a little is enough": "s",
    "label flips": "^",
    "one class into another": "D",
    "strongest found": "v",
}


def draw(records: Sequence[dict[str, Any]], certificate: Path, file: Path) -> None:
    """Draws the measured accuracy of ``attacks.json`` beside the curve of the certificate."""
    stored = loads(gzip.decompress(certificate.read_bytes()).decode()).certificate
    accuracy = next(attack.accuracy for attack in stored.attacks if attack.threat == "inject") or ()
    figure = Figure(figsize=(7.0, 4.0), layout="constrained")
    axes = figure.subplots()
    users = stored.setting.users
    curve = [100 * share for share in accuracy]
    axes.fill_between(range(len(curve)), 0, curve, step="post", color="C0", alpha=0.15, linewidth=0)
    axes.step(range(len(curve)), curve, where="post", color="C0", label="proved (99 % confidence)")
    axes.text(
        40, 62, "proved: whatever the attackers send,\nit stays above this line", ha="center", color="C0"
    )
    for number, (name, mark) in enumerate(MARKS.items(), start=1):
        own = [each for each in records if each["attack"] == name or (each["k"] == 0 and "one model" in each)]
        places = [each["k"] for each in own]
        axes.plot(
            places,
            [100 * e["vote"] for e in own],
            mark,
            ls=":",
            lw=0.8,
            ms=5,
            color=f"C{number}",
            label=f"under attack: {name}",
        )
    alone = [each for each in records if each["attack"] == "each digit for itself, noisy vote"]
    axes.plot(
        [e["k"] for e in alone],
        [100 * e["vote"] for e in alone],
        "x--",
        lw=0.8,
        color="black",
        label="under attack: each digit for itself, the proof's worst case",
    )
    axes.set_xlabel(f"k attackers who join {users} writers")
    axes.set_ylabel("right test digits, %")
    axes.set_ylim(0, 100)
    axes.set_xlim(left=0)
    axes.legend(fontsize=8, loc="lower left", frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, dpi=160)
