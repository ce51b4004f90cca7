"""Certified accuracy against the number of attackers: a table, and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from fedward.experiment.certification import Certified, Mode
from fedward.privacy.guarantee import Unit
from fedward.report.picture import Picture

MODES: tuple[Mode, ...] = ("paper", "inject", "present", "compromise")
_TITLES: dict[Unit, dict[Mode, str]] = {
    "user": {
        "paper": "as in the paper",
        "inject": "k attackers join",
        "present": "k may be attackers already",
        "compromise": "k users are taken over",
    },
    "example": {
        "paper": "as in the paper",
        "inject": "k examples are added",
        "present": "k may be poisoned already",
        "compromise": "k examples are changed",
    },
}
SHARES = (0.5, 0.8, 0.9)
_POINTS = 8


def title(mode: Mode, unit: Unit) -> str:
    """What attackers do in this mode, where users or where examples are hidden.

    >>> title("inject", "user"), title("inject", "example")
    ('k attackers join', 'k examples are added')
    """
    return _TITLES[unit][mode]


def table(console: Console, found: Mapping[str, Certified]) -> None:
    """For each variant and mode: certified accuracy without attackers, and the largest k at some shares.

    Each number twice: with the confidence of the certificate, and from the means over the replicas as they
    are.
    """
    for name, certified in found.items():
        rows = Table("mode", "at k = 0", *(f"k at {share:.0%}" for share in SHARES), "largest k")
        rows.title = name if len(found) > 1 else None
        for column in rows.columns[1:]:
            column.justify = "right"
        for mode in MODES:
            curves = [certified.curve(mode, sure=sure) for sure in (True, False)]
            both = [curve for curve in curves if curve is not None]
            if both:
                rows.add_row(
                    mode,
                    _pair(f"{100 * curve.accuracy[0]:.1f}" for curve in both),
                    *(_pair(_whole(curve.largest(share)) for curve in both) for share in SHARES),
                    _pair(str(len(curve.accuracy) - 1) for curve in both),
                )
        console.print(rows)
    error = next(iter(found.values())).certificate.setting.confidence.error
    console.print(
        f"each twice: at confidence {1 - error:g} / from the means as they are; "
        "at k = 0: certified accuracy in %; k at 50%: the largest k at which it is at least 50%",
        highlight=False,
        soft_wrap=True,
    )


def _whole(k: int | None) -> str:
    return "-" if k is None else str(k)


def _pair(values: Iterable[str]) -> str:
    return " / ".join(values)


def one(console: Console, certified: Certified) -> None:
    """Certified accuracy of one training at k = 0, 1, 2, ..., as it is printed when there are no variants."""
    for attack in certified.certificate.attacks:
        accuracy = attack.accuracy or ()
        step = max(1, -(-len(accuracy) // _POINTS))
        at = {k: accuracy[k] for k in range(0, len(accuracy), step)} | {len(accuracy) - 1: accuracy[-1]}
        told = ", ".join(f"{share:.1%} at {k}" for k, share in at.items())
        what = title(attack.threat, certified.certificate.setting.ledger.unit)
        console.print(f"{what}: certified accuracy {told}", highlight=False, soft_wrap=True)


def picture(found: Mapping[str, Certified]) -> Picture:
    """One panel for each mode, one colour for each variant; solid with confidence, dotted without."""
    # Slow to import, and only this needs it.
    from matplotlib.figure import Figure

    modes = [mode for mode in MODES if any(each.curve(mode, sure=True) for each in found.values())]
    unit = next(iter(found.values())).certificate.setting.ledger.unit
    canvas = Figure(figsize=(3.4 * len(modes) + 0.6, 3.6), layout="constrained")
    axes = canvas.subplots(1, len(modes), sharey=True, squeeze=False)[0]
    for panel, mode in zip(axes, modes, strict=True):
        for number, (name, certified) in enumerate(found.items()):
            _lines(panel, certified, mode, f"{name}, " if len(found) > 1 else "", f"C{number}")
        panel.set_title(title(mode, unit), fontsize=10)
        panel.set_xlabel("k")
        panel.set_ylim(0, 1.02)
        panel.set_xlim(left=0)
        panel.xaxis.get_major_locator().set_params(integer=True)
        panel.grid(alpha=0.3)
        panel.legend(fontsize=6)
    axes[0].set_ylabel("certified accuracy")
    canvas.supxlabel("solid: with confidence, dotted: means over the replicas as they are", fontsize=7)
    return Picture(figure=canvas)


def _lines(panel: Any, certified: Certified, mode: Mode, name: str, colour: str) -> None:
    for sure in (True, False):
        curve = certified.curve(mode, sure=sure)
        if curve is None:
            continue
        # Where nothing is certified any more the curve ends on the axis.
        accuracy = [*curve.accuracy, 0.0]
        panel.plot(
            range(len(accuracy)),
            accuracy,
            color=colour,
            linestyle="-" if sure else ":",
            linewidth=1.5 if sure else 1.0,
            marker="." if len(accuracy) < 30 else None,
            label=f"{name}ε = {_epsilon(certified, mode):.3g}" if sure else None,
        )


def _epsilon(certified: Certified, mode: Mode) -> float:
    return certified.papers_epsilon or certified.epsilon if mode == "paper" else certified.epsilon


def record(certified: Certified) -> dict[str, Any]:
    """The curves as plain values, for a program to read."""
    return {
        "epsilon": certified.epsilon,
        "papers_epsilon": certified.papers_epsilon,
        "delta": certified.certificate.setting.delta,
        "replicas": len(certified.replicas),
        "error": certified.certificate.setting.confidence.error,
        "curves": [
            {
                "mode": curve.mode,
                "with_confidence": curve.sure,
                "certified_accuracy": list(curve.accuracy),
                "largest_k_at": {f"{share:g}": curve.largest(share) for share in SHARES},
            }
            for curve in certified.curves
        ],
    }
