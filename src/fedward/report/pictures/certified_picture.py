"""Certified accuracy against the number of attackers, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedward.certificates.certified import Certified, Mode
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.rounding import round_up_digits
from fedward.report.pictures.picture import Picture, label, panels
from fedward.report.terminal.certified_table import MODES, title


def picture(found: Mapping[str, Certified]) -> Picture:
    """One panel for each mode, one colour for each variant; solid with confidence, dotted without."""
    modes = [mode for mode in MODES if any(each.curve(mode, sure=True) for each in found.values())]
    unit = next(iter(found.values())).certificate.setting.ledger.unit
    about = {mode: {_about(found, mode) for found in found.values()} for mode in modes}
    together = len(found) > 1 and all(len(each) == 1 for each in about.values())
    crowded = len(found) > 3
    high = 3.6 + (0.13 * (len(found) // 2 + 1) if crowded else 0.0)
    canvas, (axes,) = panels(1, len(modes), (3.4 * len(modes) + 0.6, high), sharey=True)
    for panel, mode in zip(axes, modes, strict=True):
        for number, (name, certified) in enumerate(found.items()):
            said = f"{name}, " if len(found) > 1 else ""
            said += f"ε = {round_up_digits(_guarantee(certified, mode).epsilon, 3)}"
            said += "" if together else f" {_about(certified, mode)}"
            dots = len(found) == 1 and all(len(c.accuracy) < 30 for c in certified.curves)
            _lines(panel, certified, mode, said, color=f"C{number}", marker="." if dots else None)
        panel.set_ylim(0, 1.02)
        panel.set_xlim(left=0)
        panel.xaxis.get_major_locator().set_params(integer=True)
        label(panel, x="k", y="", title=title(mode, unit), legend=0 if crowded else 6)
        if crowded:  # within the panel it would hide where the curves fall
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 2, "frameon": False}
            panel.legend(fontsize=6, handlelength=1.2, handletextpad=0.4, columnspacing=0.8, **place)
    axes[0].set_ylabel("certified accuracy")
    canvas.supxlabel(_foot(found, modes, together), fontsize=7)
    return Picture(figure=canvas)


def _foot(found: Mapping[str, Certified], modes: Sequence[Mode], together: bool) -> str:
    """What every ε of the picture is about, and what the lines are."""
    first = next(iter(found.values()))
    own = first.guarantee
    told = f"{own.unit} level, {own.adjacency}"
    if together:
        by = [f"{_about(first, mode)}{' as in the paper' if mode == 'paper' else ''}" for mode in modes]
        told = f"ε {' and '.join(dict.fromkeys(by))}, {told}"
    else:
        told = f"ε: {told}"
    return f"{told}; solid: with confidence, dotted: means over the replicas as they are"


def _guarantee(certified: Certified, mode: Mode) -> Guarantee:
    papers = certified.papers_guarantee if mode == "paper" else None
    return papers or certified.guarantee


def _about(certified: Certified, mode: Mode) -> str:
    """What an ε is about, in a few words; unit and adjacency are those of the whole picture."""
    guarantee = _guarantee(certified, mode)
    return f"at δ = {guarantee.delta:.3g} ({guarantee.accountant}, one training)"


def _lines(panel: Any, certified: Certified, mode: Mode, label: str, **style: str | None) -> None:
    for sure in (True, False):
        if (curve := certified.curve(mode, sure=sure)) is not None:
            # Where nothing is certified any more the curve ends on the axis.
            accuracy = [*curve.accuracy, 0.0]
            dashes, width = ("-", 1.5) if sure else (":", 1.0)
            name = label if sure else None
            # k is whole: nothing is said about what lies between.
            panel.step(
                range(len(accuracy)), accuracy, dashes, where="post", linewidth=width, label=name, **style
            )
