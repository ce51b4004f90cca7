"""The picture of a sweep: means with bands against the first numeric axis, or bars where there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedward.reports.pictures.picture import Picture
from fedward.reports.pictures.sketch import Panel, Sketch
from fedward.rundir.results import Mean
from fedward.rundir.sweep_record import SweepRecord
from fedward.studies.sweep.sweep_results import MEASURES, Row

_SHARES = ("accuracy", "attack_success")
# More lines than this nobody can tell apart, and their names would cover the picture.
_MOST_NAMES = 12
_MOST_TICKS = 8


@dataclass(frozen=True, kw_only=True)
class Combination:
    """What is drawn of one combination: the value of each axis, in words and plain, and its measures."""

    labels: dict[str, str]
    values: dict[str, Any]
    seeds: int
    measures: dict[str, Mean]


def combinations_of_record(record: SweepRecord) -> list[Combination]:
    """Of a sweep that was read from its directory."""
    return [
        Combination(
            labels=each["labels"],
            values=each["values"],
            seeds=len(each["seeds"]),
            measures={key: Mean.model_validate(each[key]) for key in _SHARES if key in each},
        )
        for each in record.combinations
    ]


def combinations_of_rows(rows: Sequence[Row]) -> list[Combination]:
    """Of a sweep that has just come to its end."""
    return [
        Combination(labels=row.labels, values=row.values, seeds=len(row.seeds), measures=row.measures)
        for row in rows
    ]


def draw(found: Sequence[Combination], title: str, style: str = "screen") -> Picture | None:
    """A panel for accuracy and, where attacked, one for attack success; None if there is neither."""
    measures = [key for key in _SHARES if any(key in each.measures for each in found)]
    if not measures:
        return None
    axis = next((name for name in found[0].labels if _is_scale(found, name)), None)
    width = 6.4 if axis else min(max(6.4, 0.5 * len(found)), 24.0 / len(measures))
    sketch = Sketch([MEASURES[key] for key in measures], (width, 4.8), style, across=2)
    for panel, key in zip(sketch.panels, measures, strict=True):
        if axis is None:
            _bars(panel, found, key)
        else:
            _lines(panel, found, key, axis)
        panel.per_cent(y=True)
        across = axis or ", ".join(found[0].labels)
        panel.label(x=across, y=f"{MEASURES[key]} (%)", title="")
        panel.axes.grid(visible=axis is not None, axis="x")
        # A marker at 0 is whole.
        panel.axes.set_ylim(bottom=0.0 if axis is None else -0.02 * panel.axes.get_ylim()[1])
    several = found[0].seeds
    band = f"mean of {several} seeds, 95 % interval" if several > 1 else "one seed"
    if sketch.style.titles:
        sketch.figure.suptitle(f"{title}: {band}", fontsize=11)
    return sketch.picture(f"{title}, {band}")


def _is_scale(found: Sequence[Combination], name: str) -> bool:
    """Whether an axis of the sweep can be one of the picture: it has two numbers at least, nothing else."""
    values = [each.values.get(name) for each in found]
    numbers = [each for each in values if isinstance(each, int | float) and not isinstance(each, bool)]
    return len(numbers) == len(values) and all(map(math.isfinite, numbers)) and len(set(numbers)) > 1


def _lines(panel: Panel, found: Sequence[Combination], key: str, axis: str) -> None:
    lines: dict[str, list[Combination]] = {}
    for each in found:
        others = ", ".join(f"{name}={label}" for name, label in each.labels.items() if name != axis)
        lines.setdefault(others, []).append(each)
    for number, (name, members) in enumerate(lines.items()):
        known = [(float(each.values[axis]), each.measures[key]) for each in members if key in each.measures]
        known.sort(key=lambda pair: pair[0])
        panel.line(
            name or "all",
            [value for value, _ in known],
            [mean.value for _, mean in known],
            [mean.low for _, mean in known],
            [mean.high for _, mean in known],
            number=number,
            label=name if len(lines) > 1 and number < _MOST_NAMES else None,
            band=True,
        )
    values = sorted({float(each.values[axis]) for each in found})
    if values[0] > 0 and values[-1] / values[0] >= 30:
        panel.axes.set_xscale("log")
    if len(values) <= _MOST_TICKS:
        panel.axes.set_xticks(values, [f"{value:g}" for value in values])
        panel.axes.minorticks_off()
    panel.legend()


def _bars(panel: Panel, found: Sequence[Combination], key: str) -> None:
    means = {", ".join(each.labels.values()): each.measures[key] for each in found if key in each.measures}
    panel.bars("mean", {name: (mean.value, mean.low, mean.high) for name, mean in means.items()})
    names = [name.replace(", ", "\n") for name in means]
    panel.axes.set_xticks(range(len(means)), names, rotation=30, ha="right", fontsize=8)
