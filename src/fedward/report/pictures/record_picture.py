"""A picture of what a run measured: the charts of its report, drawn by matplotlib."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.certificates.level import level
from fedward.report.numbers import many, measures_in_words
from fedward.report.page.certified_curves import certified_charts
from fedward.report.page.chart import Chart
from fedward.report.page.inference_part import inference_charts
from fedward.report.page.replicas_part import cost_charts
from fedward.report.page.run_charts import run_charts
from fedward.report.pictures.picture import Picture, label, panels
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.results import Mean
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord

_STYLES = ("-", "--", "-.", ":")
_MARKERS = "osD^vP"
_MOST_MARKS = 30


def picture_of(record: Record) -> Picture:
    """One panel for each chart: curves over rounds, certified accuracy or cost against k, or means."""
    if drawn := [chart for chart in _charts(record) if chart.drawn]:
        return draw(drawn)
    if isinstance(record, ReplicasRecord) and record.result is not None:
        return _means(record.result.variants)
    raise InvalidValue(f"{record.path} has nothing to draw yet: nothing was measured")


def _charts(record: Record) -> Iterable[Chart]:
    if isinstance(record, RunRecord):
        return run_charts(record, "run")
    if isinstance(record, InferenceRecord):
        return inference_charts(record, "run")
    return certified_charts(record, "run") if record.certificates else cost_charts(record, "run")


def draw(charts: Sequence[Chart]) -> Picture:
    """The charts side by side; lines differ in colour, dashes and marks."""
    across = min(3, len(charts))
    down = -(-len(charts) // across)
    figure, axes = panels(down, across, (5.2 * across, 3.8 * down))
    places = axes.flatten()
    for place, chart in zip(places, charts, strict=False):
        _panel(place, chart)
    for place in places[len(charts) :]:
        place.set_visible(False)
    return Picture(figure=figure)


def _panel(place: Any, chart: Chart) -> None:
    scale, shares = 100 if chart.percent else 1, chart.across != "count"
    for number, line in enumerate(line for line in chart.lines if line.points):
        x, y = zip(*line.points, strict=True)
        place.plot(
            [100 * value for value in x] if shares else x,
            [scale * value for value in y],
            linestyle=_STYLES[number % len(_STYLES)],
            marker=_MARKERS[number % len(_MARKERS)] if len(x) <= _MOST_MARKS else None,
            markersize=3,
            drawstyle="steps-post" if line.stairs else "default",
            label=line.name,
        )
    values = [y for line in chart.lines for _, y in line.points]
    if chart.log and min(values) > 0 and max(values) / min(values) > 50:
        place.set_yscale("log")
    elif chart.from_zero:
        place.set_ylim(bottom=0)
    if chart.percent:
        place.set_ylim(top=102)
    per_cent = {True: " (%)", False: ""}
    label(place, x=chart.x + per_cent[shares], y=chart.y + per_cent[chart.percent])
    place.set_title(chart.title, fontsize=10, wrap=True)
    if chart.across == "small share":
        place.set_xscale("log")
    elif not shares:
        place.xaxis.get_major_locator().set_params(integer=True)


def _means(variants: Mapping[str, Mapping[str, Mean]]) -> Picture:
    figure, ((place,),) = panels(1, 1, (6.4, 1.4 + 0.4 * len(variants)))
    for number, found in enumerate(variants.values()):
        accuracy = found["accuracy"]
        mean = accuracy.value
        low, high = (mean if end is None else end for end in (accuracy.low, accuracy.high))
        error = [[100 * (mean - low)], [100 * (high - mean)]]
        place.errorbar(100 * mean, number, xerr=error, marker="o", capsize=3, color="C0")
    place.set_yticks(range(len(variants)), list(variants))
    place.invert_yaxis()
    label(place, x="accuracy (%), mean over the replicas and its 95 % interval", y="", legend=0)
    return Picture(figure=figure)


def html_of(record: Record) -> str:
    """A run as a notebook shows it: where it is, what was found, what is guaranteed, and its picture."""
    lines = [f"<b>{escape(str(record.path))}</b>: {escape(_state(record))}"]
    if not isinstance(record, ReplicasRecord):
        guarantee = record.guarantee()
        lines.append(escape("nothing spent yet" if guarantee is None else str(guarantee)))
    elif record.certificates:
        sure = next(iter(record.certificates.values())).setting.confidence
        lines.append(f"certified with confidence {level(sure.error)} from {record.replicas:,} trainings")
    try:
        png = base64.b64encode(picture_of(record).png(dpi=80)).decode()
        lines.append(f'<img alt="curves of {escape(record.path.name)}" src="data:image/png;base64,{png}">')
    except InvalidValue as error:
        lines.append(escape(str(error)))
    return "<div>" + "<br>".join(lines) + "</div>"


def _state(record: Record) -> str:
    state = "finished" if record.finished else "not finished"
    if isinstance(record, ReplicasRecord):
        return f"{record.replicas:,} replicas of {len(record.experiments)} variants, {state}"
    if isinstance(record, InferenceRecord):
        auc = "" if record.best is None else f", AUC {record.attacks[record.best].auc.value:.3f}"
        return f"{record.kind} inference, {state}{auc}"
    return ", ".join([many(record.rounds, "round"), state, *measures_in_words(record.last)])
