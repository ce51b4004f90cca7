"""Certified accuracy against k: the curves, and the table of where they reach."""

from __future__ import annotations

from collections.abc import Iterator

from fedward.certificates.certified import Curve
from fedward.privacy.guarantee import Unit
from fedward.reports.numbers import percent, percent_certified
from fedward.reports.page.charts.chart import Chart, Line
from fedward.reports.page.charts.tables import Cell, Column, Table, numbers
from fedward.reports.page.words.certificate_words import headline
from fedward.reports.terminal.certified_table import MODES, SHARES, title
from fedward.rundir.run_record import ReplicasRecord


def _curves(run: ReplicasRecord, variant: str) -> Iterator[Curve]:
    """The certificate's own curves, and those of the paper and without confidence as they are stored."""
    for attack in run.certificates[variant].attacks:
        most = int(attack.k.max())
        accuracy = attack.accuracy or ()
        yield Curve(mode=attack.threat, sure=True, accuracy=accuracy, most=None if most < 0 else most)
    stored = (run.certified or {}).get(variant) or {}
    for each in stored.get("curves", []) if isinstance(stored, dict) else []:
        mode, sure, accuracy = each["mode"], bool(each["with_confidence"]), tuple(each["certified_accuracy"])
        if mode == "paper" or not sure:
            # Older versions did not store it: where the curve ends, if it ever leaves the axis.
            end = len(accuracy) - 1 if any(accuracy) else None
            yield Curve(mode=mode, sure=sure, accuracy=accuracy, most=each.get("largest_k", end))


def _unit(run: ReplicasRecord) -> Unit:
    return next(iter(run.certificates.values())).setting.ledger.unit


def certified_charts(run: ReplicasRecord, key: str) -> Iterator[Chart]:
    """One chart for each threat where there are several variants, else one for all threats."""
    several, unit = len(run.certificates) > 1, _unit(run)
    lines: dict[str, list[Line]] = {}
    for variant in run.certificates:
        for curve in sorted(_curves(run, variant), key=lambda curve: MODES.index(curve.mode)):
            if curve.sure:
                what = title(curve.mode, unit)
                # Where nothing is certified any more the curve ends on the axis.
                points = tuple((float(k), share) for k, share in enumerate([*curve.accuracy, 0.0]))
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
            follows=key,
            rest=float(headline(next(iter(run.certificates.values())).attacks[0])),
        )


def certified_table(run: ReplicasRecord) -> Table:
    """Every curve in a row, those as in the paper and those without confidence too."""
    several, unit = len(run.certificates) > 1, _unit(run)
    rows = []
    for variant in run.certificates:
        for curve in _curves(run, variant):
            if curve.accuracy:
                reached = *map(curve.largest, SHARES), curve.most
                row = [Cell(variant)] if several else []
                row += [
                    Cell(title(curve.mode, unit)),
                    Cell("yes" if curve.sure else "no: averages as they are"),
                ]
                row += [Cell(percent_certified(curve.accuracy[0]), curve.accuracy[0])]
                rows.append(row + [Cell("none", -1) if k is None else Cell(str(k), k) for k in reached])
    columns = [*([Column("training")] if several else []), Column("threat"), Column("with confidence")]
    columns += numbers("at k = 0", *(f"k at {percent(share, 0)}" for share in SHARES), "largest k")
    caption = "Certified accuracy without attackers, and the largest k at which so many are certified"
    return Table(caption=caption, columns=columns, rows=rows)
