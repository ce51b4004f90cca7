"""Certified accuracy against k: the curves, and the table of where they reach."""

from __future__ import annotations

from collections.abc import Iterator

from fedward.certificates.certified import Mode
from fedward.privacy.guarantee import Unit
from fedward.report.numbers import percent, percent_certified
from fedward.report.page.chart import Chart, Line
from fedward.report.page.tables import Cell, Column, Table, numbers
from fedward.report.terminal.certified_table import MODES, SHARES, title
from fedward.rundir.run_record import ReplicasRecord


def _curves(run: ReplicasRecord, variant: str) -> Iterator[tuple[Mode, bool, tuple[float, ...], int | None]]:
    """Mode, whether with confidence, certified accuracy at k = 0, 1, ..., and the largest k of any."""
    certificate = run.certificates[variant]
    for attack in certificate.attacks:
        largest = int(attack.k.max())
        yield attack.threat, True, attack.accuracy or (), None if largest < 0 else largest
    stored = (run.certified or {}).get(variant) or {}
    for curve in stored.get("curves", []) if isinstance(stored, dict) else []:
        if curve["mode"] == "paper" or not curve["with_confidence"]:
            accuracy = tuple(curve["certified_accuracy"])
            # Older versions did not store it: where the curve ends, if it ever leaves the axis.
            largest = curve.get("largest_k", len(accuracy) - 1 if any(accuracy) else None)
            yield curve["mode"], bool(curve["with_confidence"]), accuracy, largest


def _unit(run: ReplicasRecord) -> Unit:
    return next(iter(run.certificates.values())).setting.ledger.unit


def certified_charts(run: ReplicasRecord, key: str) -> Iterator[Chart]:
    """One chart for each threat where there are several variants, else one for all threats."""
    several, unit = len(run.certificates) > 1, _unit(run)
    lines: dict[str, list[Line]] = {}
    for variant in run.certificates:
        for mode, sure, accuracy, _ in sorted(_curves(run, variant), key=lambda c: MODES.index(c[0])):
            if sure:
                what = title(mode, unit)
                # Where nothing is certified any more the curve ends on the axis.
                points = tuple((float(k), share) for k, share in enumerate([*accuracy, 0.0]))
                line = Line(variant if several else what, points, stairs=True)
                lines.setdefault(f": {what}" if several else "", []).append(line)
    for number, (about, own) in enumerate(lines.items()):
        yield Chart(
            key=f"{key}-{number}",
            title=f"Certified accuracy against k{about}",
            x="k, attackers" if unit == "user" else "k, poisoned examples",
            y="right and certified",
            percent=True,
            promise="at least",
            lines=tuple(own),
            notes=("The upright line is at the k that is chosen below.",),
            follows=key,
        )


def certified_table(run: ReplicasRecord) -> Table:
    """Every curve in a row, those as in the paper and those without confidence too."""
    several, unit = len(run.certificates) > 1, _unit(run)
    rows = []
    for variant in run.certificates:
        for mode, sure, accuracy, most in _curves(run, variant):
            if not accuracy:
                continue
            reached = [max((k for k, a in enumerate(accuracy) if a >= each), default=None) for each in SHARES]
            row = [Cell(variant)] if several else []
            row += [Cell(title(mode, unit)), Cell("yes" if sure else "no: averages as they are")]
            row += [Cell(percent_certified(accuracy[0]), accuracy[0])]
            row += [Cell("none", -1) if k is None else Cell(str(k), k) for k in (*reached, most)]
            rows.append(row)
    columns = [*([Column("training")] if several else []), Column("threat"), Column("with confidence")]
    columns += numbers("at k = 0", *(f"k at {percent(share, 0)}" for share in SHARES), "largest k")
    caption = "Certified accuracy without attackers, and the largest k at which so many are certified"
    return Table(caption=caption, columns=columns, rows=rows)
