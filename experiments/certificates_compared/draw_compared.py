"""The picture: certified accuracy against k by every proof, for users who join and who are taken over."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fedward.privacy.rounding import round_up_digits

THREATS = {"inject": "k attackers join", "compromise": "k users are taken over"}
COLOURS = {"ours": "C0", "Xie et al. 2022": "C7", "CRFL": "C3"}
GROUPS = ("#b7e0b0", "#6fbf73", "#2e8b57", "#0b5d3b")
RANDOM = "C1"


def draw(records: Sequence[dict[str, Any]], file: Path) -> None:
    """One row for what users train on, one column for each threat."""
    rows = list(dict.fromkeys(each["inputs"] for each in records))
    figure = Figure(figsize=(11.0, 3.3 * len(rows)), layout="constrained")
    panels = figure.subplots(len(rows), len(THREATS), sharey=True, squeeze=False)
    for own, inputs in zip(panels, rows, strict=True):
        for axes, (threat, title) in zip(own, THREATS.items(), strict=True):
            groups = iter(GROUPS)
            for each in (each for each in records if each["inputs"] == inputs):
                disjoint = each["name"].startswith("FLCert, ") and "random" not in each["name"]
                colour = next(groups) if disjoint else COLOURS.get(each["name"], RANDOM)
                curve = [100 * share for share in each["curves"].get(threat, [])]
                if not curve:
                    continue
                width = 2.4 if each["name"] == "ours" else 1.4
                axes.step(
                    [*range(len(curve) + 1)],
                    [*curve, 0],
                    where="post",
                    color=colour,
                    lw=width,
                    label=_label(each),
                )
            axes.set_title(f"{inputs}: {title}", fontsize=9)
            axes.set_xlabel("k")
            axes.set_xlim(left=0)
            axes.set_ylim(0, 100)
            axes.grid(alpha=0.25)
            axes.spines[["top", "right"]].set_visible(False)
        own[0].set_ylabel("right and certified, %")
        lines, labels = own[0].get_legend_handles_labels()
        own[-1].legend(lines, labels, fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(file, dpi=140)


def _label(each: dict[str, Any]) -> str:
    private = "no privacy" if each["epsilon"] is None else f"ε = {round_up_digits(each['epsilon'], 2)}"
    return f"{each['name']} ({private})"
