"""Certified accuracy against the number of attackers, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fedward.certificates.certified import Certified, Mode
from fedward.certificates.others.other_setting import OtherSetting
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.rounding import round_up_digits
from fedward.reports.pictures.picture import Picture
from fedward.reports.pictures.sketch import Panel, Sketch
from fedward.reports.terminal.certified_table import MODES, title


def picture(found: Mapping[str, Certified], style: str = "screen") -> Picture:
    """One panel for each mode, one colour for each variant; solid with confidence, dotted without."""
    modes = [mode for mode in MODES if any(each.curve(mode, sure=True) for each in found.values())]
    unit = next(iter(found.values())).certificate.setting.ledger.unit
    about = {mode: {_about(found, mode) for found in found.values()} for mode in modes}
    together = len(found) > 1 and all(len(each) == 1 for each in about.values())
    crowded = len(found) > 3
    high = 3.6 + (0.13 * (len(found) // 2 + 1) if crowded else 0.0)
    sketch = Sketch(
        [title(mode, unit) for mode in modes],
        (3.4 + 0.6 / len(modes), high),
        style,
        across=len(modes),
        sharey=True,
    )
    for panel, mode in zip(sketch.panels, modes, strict=True):
        for number, (name, certified) in enumerate(found.items()):
            said = f"{name}, " if len(found) > 1 else ""
            said += _privacy(certified, mode, together)
            dots = len(found) == 1 and all(len(c.accuracy) < 30 for c in certified.curves)
            _lines(panel, certified, mode, said, number=number, marker="." if dots else None)
            _ceiling(panel, certified, mode, number=number, named=len(found) == 1)
        panel.axes.set_ylim(0, 1.02)
        panel.axes.set_xlim(left=0)
        panel.axes.xaxis.get_major_locator().set_params(integer=True)
        panel.label(x="k", y="certified accuracy" if panel is sketch.panels[0] else "")
        if crowded:  # within the panel it would hide where the curves fall
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 2, "frameon": False}
            panel.legend(fontsize=6, handlelength=1.2, handletextpad=0.4, columnspacing=0.8, **place)
        else:
            panel.legend(fontsize=6)
    foot = _foot(found, modes, together)
    sketch.foot(foot)
    return sketch.picture(foot)


def _foot(found: Mapping[str, Certified], modes: Sequence[Mode], together: bool) -> str:
    """What every ε of the picture is about, and what the lines are."""
    first = next(iter(found.values()))
    own = first.guarantee
    if not own.private:
        return f"{_proof(first)}no ε"
    told = f"{own.unit} level, {own.adjacency}"
    if together:
        by = [f"{_about(first, mode)}{' as in the paper' if mode == 'paper' else ''}" for mode in modes]
        told = f"ε {' and '.join(dict.fromkeys(by))}, {told}"
    else:
        told = f"ε: {told}"
    lines = "solid: with confidence, dotted: means over the replicas as they are, upright: where M ends it"
    if proof := _proof(first):
        lines = f"{proof}with confidence"
    return f"{told}; {lines}"


def _proof(certified: Certified) -> str:
    """By which proof, where it is another than ours."""
    setting = certified.certificate.setting
    return f"{setting.by}; " if isinstance(setting, OtherSetting) else ""


def _privacy(certified: Certified, mode: Mode, together: bool) -> str:
    """The ε of a line, and what it is about where that differs between lines."""
    own = _guarantee(certified, mode)
    if not own.private:
        return "no ε"
    return f"ε = {round_up_digits(own.epsilon, 3)}" + ("" if together else f" {_about(certified, mode)}")


def _guarantee(certified: Certified, mode: Mode) -> Guarantee:
    papers = certified.papers_guarantee if mode == "paper" else None
    return papers or certified.guarantee


def _about(certified: Certified, mode: Mode) -> str:
    """What an ε is about, in a few words; unit and adjacency are those of the whole picture."""
    guarantee = _guarantee(certified, mode)
    return f"at δ = {guarantee.delta:.3g} ({guarantee.accountant}, one training)"


def _lines(
    panel: Panel, certified: Certified, mode: Mode, label: str, number: int, marker: str | None
) -> None:
    for sure in (True, False):
        if (curve := certified.curve(mode, sure=sure)) is not None:
            # Where nothing is certified any more the curve ends on the axis.
            accuracy = [*curve.accuracy, 0.0]
            dashes, width = ("-", 1.5) if sure else (":", 1.0)
            panel.line(
                label if sure else f"{label}, without confidence",
                range(len(accuracy)),
                accuracy,
                number=number,
                label=label if sure else None,
                drawstyle="steps-post",  # k is whole: nothing is said about what lies between
                linestyle=dashes,
                linewidth=width,
                marker=marker,
                markersize=None,
            )


def _ceiling(panel: Panel, certified: Certified, mode: Mode, *, number: int, named: bool) -> None:
    """An upright line where M ends what can be certified: the curve with confidence cannot go beyond it."""
    for each in certified.ceilings:
        if each.threat == mode and each.k < each.most:
            limit = "nothing at all" if each.k < 0 else f"nothing above k = {each.k}"
            panel.line(
                f"ceiling of M = {each.replicas:,}",
                [each.k + 1, each.k + 1],
                [0.0, 1.0],
                number=number,
                label=f"M = {each.replicas:,}: {limit}" if named else None,
                linestyle="--",
                linewidth=0.8,
                marker=None,
            )
