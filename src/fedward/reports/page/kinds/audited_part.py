"""The part of the page that is about an audit: promised, measured and the accountants on one axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from fedward.privacy.rounding import round_up
from fedward.reports.page.again.reproduce import recipe_of_audit
from fedward.reports.page.charts.axis import Axis
from fedward.reports.page.charts.line_style import LineStyle
from fedward.reports.page.charts.tables import Cell, Column, Table, numbers
from fedward.reports.page.kinds.part import Place, fill_part
from fedward.reports.page.words.guarantee_words import promise
from fedward.reports.templates import fill
from fedward.reports.terminal.audit_table import least
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.audit_result import AuditResult
from fedward.studies.audit.audit_findings import PASS_PROVES_NOTHING

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP = 680, 250, 660, 30, 14


@dataclass(frozen=True)
class EpsilonRow:
    """One row of the axis: a promise, a bound from below, or an estimate."""

    name: str
    kind: Literal["promised", "at least", "estimate"]
    epsilon: float

    @property
    def text(self) -> str:
        """The number: a promise rounded up, a bound rounded down."""
        if self.kind == "promised":
            return f"≤ {round_up(self.epsilon, 2)}"
        return f"≥ {least(self.epsilon)[:-2]}" if self.kind == "at least" else f"≈ {self.epsilon:.2f}"


def epsilon_rows(result: AuditResult) -> list[EpsilonRow]:
    """What is on the axis: the accountants' promises, the bounds, the estimate, if they are finite."""
    rows = [
        EpsilonRow(f"promised, {name}", "promised", epsilon)
        for name, epsilon in result.accountants.items()
        if epsilon is not None
    ]
    rows += [EpsilonRow(f"measured, {each.method}", "at least", each.epsilon) for each in result.bounds]
    if result.estimate is not None:
        rows.append(EpsilonRow("estimated, no bound", "estimate", result.estimate))
    return rows


def epsilon_axis(result: AuditResult, place: Place) -> Markup:
    """Promised, measured and estimated ε as a picture, with its description for those who do not see it."""
    rows = epsilon_rows(result)
    scale = Axis.around([0.0, result.claimed, *(row.epsilon for row in rows)], from_zero=True)
    bottom = _TOP + _ROW * len(rows) + 6

    def x(value: float) -> float:
        return _LEFT + scale.place(value) * (_RIGHT - _LEFT)

    placed = [(row, x(row.epsilon), _TOP + _ROW * number + _ROW / 2) for number, row in enumerate(rows)]
    return fill(
        "page/kinds/epsilon_axis.svg",
        key=place.key,
        hue=LineStyle.numbered(place.colour).hue,
        rows=placed,
        ticks=[(x(tick), scale.label(tick)) for tick in scale.ticks],
        claimed=x(result.claimed),
        left=_LEFT,
        right=_RIGHT,
        top=_TOP,
        bottom=bottom,
        width=_WIDTH,
        height=bottom + 42,
    )


def audited_part(run: AuditRecord, place: Place) -> Markup:
    """Everything that the files of ``fedward audit`` say."""
    result = run.result
    return fill_part(
        "page/kinds/audited.html",
        run,
        run.experiment,
        place,
        recipe_of_audit(run),
        asked=_asked(run),
        axis=None if result is None else epsilon_axis(result, place),
        table=None if result is None else _table(result),
        pass_proves_nothing=PASS_PROVES_NOTHING,
        promise=None if result is None else promise(result.guarantee, seed=int(run.experiment["seed"])),
    )


def _asked(run: AuditRecord) -> str:
    own = ", ".join(
        f"{key} {value}" for key, value in run.about.items() if key != "mode" and value is not None
    )
    return f"{run.about.get('mode')} ({own})"


def _table(result: AuditResult) -> Table:
    rows = [
        [Cell("promised"), Cell(name), Cell("infinite" if each is None else round_up(each), each), Cell("")]
        for name, each in result.accountants.items()
    ]
    for bound in result.bounds:
        assumes = bound.assumes or "nothing about the mechanism"
        rows.append(
            [Cell("at least"), Cell(bound.method), Cell(least(bound.epsilon), bound.epsilon), Cell(assumes)]
        )
    fit = "infinite" if result.estimate is None else f"{result.estimate:.4f}"
    rows.append([Cell("estimate"), Cell("best fit"), Cell(fit, result.estimate), Cell("no bound")])
    columns = [Column("ε is"), Column("by"), *numbers("ε"), Column("assumes")]
    return Table(caption="Promised, measured and estimated", columns=columns, rows=rows)
