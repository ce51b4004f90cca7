"""A picture of what a run measured: the charts of its report, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fedward.base.validate import InvalidValue
from fedward.reports.page.certified.certified_curves import certified_charts
from fedward.reports.page.charts.chart import Chart
from fedward.reports.page.charts.run_charts import run_charts
from fedward.reports.page.kinds.audited_part import epsilon_rows
from fedward.reports.page.kinds.inference_part import inference_charts
from fedward.reports.page.kinds.replicas_part import cost_charts
from fedward.reports.pictures.arena_picture import draw_arena
from fedward.reports.pictures.picture import Picture
from fedward.reports.pictures.picture_style import style_called
from fedward.reports.pictures.sketch import Panel, Sketch
from fedward.reports.pictures.sweep_picture import combinations_of_record
from fedward.reports.pictures.sweep_picture import draw as draw_sweep
from fedward.rundir.arena_record import ArenaRecord
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.results import Mean
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord
from fedward.rundir.sweep_record import SweepRecord


def picture_of(record: Record | SweepRecord | ArenaRecord, style: str = "screen") -> Picture:
    """One panel for each chart: curves over rounds, certified accuracy or cost against k, or means."""
    style_called(style)
    if isinstance(record, ArenaRecord):
        picture = draw_arena(record, style)
        if picture is None:
            raise InvalidValue(f"{record.path} has nothing to draw: no attack was measured")
        return picture
    if isinstance(record, SweepRecord):
        picture = draw_sweep(combinations_of_record(record), record.path.resolve().name, style)
        if picture is None:
            raise InvalidValue(f"{record.path} has nothing to draw: nothing was measured")
        return picture
    if isinstance(record, AuditRecord):
        return _audit(record, style)
    if drawn := [chart for chart in _charts(record) if chart.drawn]:
        return draw(drawn, style)
    if isinstance(record, ReplicasRecord) and record.result is not None:
        return _means(record.result.variants, style)
    raise InvalidValue(f"{record.path} has nothing to draw yet: nothing was measured")


def _charts(record: RunRecord | ReplicasRecord | InferenceRecord) -> Iterable[Chart]:
    if isinstance(record, RunRecord):
        return run_charts(record, "run")
    if isinstance(record, InferenceRecord):
        return inference_charts(record, "run")
    return certified_charts(record, "run") if record.certificates else cost_charts(record, "run")


def draw(charts: Sequence[Chart], style: str = "screen") -> Picture:
    """The charts side by side; lines differ in colour, dashes and marks."""
    sketch = Sketch([chart.title for chart in charts], (5.2, 3.8), style)
    for panel, chart in zip(sketch.panels, charts, strict=True):
        _fill(panel, chart)
    # What follows the reader's choice is a control of the page.
    notes = [note for chart in charts if not chart.follows for note in chart.notes]
    return sketch.picture(" ".join(dict.fromkeys(notes)).rstrip("."))


def _fill(panel: Panel, chart: Chart) -> None:
    axes, shares = panel.axes, chart.across != "count"
    for number, line in enumerate(line for line in chart.lines if line.points):
        x, y = zip(*line.points, strict=True)
        steps = "steps-post" if line.stairs else "default"
        panel.line(line.name, x, y, number=number, drawstyle=steps)
    values = [y for line in chart.lines for _, y in line.points]
    if chart.log and min(values) > 0 and max(values) / min(values) > 50:
        axes.set_yscale("log")
    elif chart.from_zero:
        axes.set_ylim(bottom=0)
    if chart.percent:
        axes.set_ylim(top=1.02)
    if chart.across == "small share":
        axes.set_xscale("log")
    elif not shares:
        axes.xaxis.get_major_locator().set_params(integer=True)
    panel.per_cent(x=shares, y=chart.percent)
    per_cent = {True: " (%)", False: ""}
    panel.label(x=chart.x + per_cent[shares], y=chart.y + per_cent[chart.percent])
    panel.legend()


def _means(variants: Mapping[str, Mapping[str, Mean]], style: str) -> Picture:
    height = 1.4 + 0.4 * len(variants)
    sketch = Sketch(["accuracy over the replicas"], (6.4, height), style, height=max(0.5, height / 4))
    (panel,) = sketch.panels
    means = {name: found["accuracy"] for name, found in variants.items()}
    panel.across("mean", {name: (each.value, each.low, each.high) for name, each in means.items()})
    panel.per_cent(x=True)
    panel.axes.margins(y=0.15)
    about = ", mean over the replicas and its 95 % interval" if sketch.style.titles else ""
    panel.label(x=f"accuracy (%){about}", y="", title="")
    return sketch.picture("mean over the replicas and its 95 % interval")


def _audit(record: AuditRecord, style: str) -> Picture:
    if record.result is None:
        raise InvalidValue(f"{record.path} has nothing to draw yet: nothing was measured")
    rows = epsilon_rows(record.result)
    height = 1.4 + 0.35 * len(rows)
    sketch = Sketch([record.result.sentence], (6.4, height), style, height=max(0.5, height / 4))
    (panel,) = sketch.panels
    # A bound says that ε is no smaller.
    values = {row.name: (row.epsilon, 0.0 if row.kind == "at least" else None, None) for row in rows}
    panel.across("ε", {name: (at, low, None) for name, (at, low, _) in values.items()})
    panel.axes.set_xlim(left=0)
    panel.axes.margins(y=0.15)
    panel.label(x="ε", y="")
    return sketch.picture("promises are upper bounds, what was measured is a lower bound")
