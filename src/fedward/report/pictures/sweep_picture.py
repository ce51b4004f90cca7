"""The picture of a sweep: means with bands against the first numeric axis, or bars where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedward.config.sweep_section import Sweep
from fedward.report.pictures.picture import Picture, panels
from fedward.studies.sweep.sweep_results import MEASURES, Row

_SHARES = ("accuracy", "attack_success")
_STYLES = ("-", "--", "-.", ":")
_MARKERS = "osD^vPX*<>"
# More lines than this nobody can tell apart, and their names would cover the picture.
_MOST_NAMES = 12
_MOST_TICKS = 8


def draw(sweep: Sweep, rows: Sequence[Row], title: str) -> bytes | None:
    """A PNG with a panel for accuracy and, where attacked, one for attack success; None if there is none."""
    measures = [key for key in _SHARES if any(key in row.measures for row in rows)]
    if not measures:
        return None
    names = list(rows[0].labels)
    axis = next((n for n, each in zip(names, sweep.axes, strict=True) if each.numeric), None)
    width = 6.4 * len(measures) if axis else max(6.4, 0.5 * len(rows)) * len(measures)
    figure, (row,) = panels(1, len(measures), (min(width, 24.0), 4.8))
    for panel, key in zip(row, measures, strict=True):
        if axis is None:
            _bars(panel, rows, key)
        else:
            _lines(panel, rows, key, axis)
        panel.set_ylabel(f"{MEASURES[key]} (%)")
        panel.set_ylim(bottom=0.0 if axis is None else -0.02 * panel.get_ylim()[1])  # a marker at 0 is whole
        panel.grid(visible=True, axis="both" if axis else "y", alpha=0.3)
        panel.set_axisbelow(True)
    several = len(rows[0].seeds)
    band = f"mean of {several} seeds, 95 % interval" if several > 1 else "one seed"
    figure.suptitle(f"{title}: {band}", fontsize=11)
    return Picture(figure=figure).png()


def _lines(panel: Any, rows: Sequence[Row], key: str, axis: str) -> None:
    lines: dict[str, list[Row]] = {}
    for row in rows:
        others = ", ".join(f"{name}={label}" for name, label in row.labels.items() if name != axis)
        lines.setdefault(others, []).append(row)
    for number, (name, members) in enumerate(lines.items()):
        known = [(float(row.values[axis]), row.measures[key]) for row in members if key in row.measures]
        if not known:
            continue
        known.sort(key=lambda pair: pair[0])
        x = [value for value, _ in known]
        (line,) = panel.plot(
            x,
            [100 * mean.value for _, mean in known],
            linestyle=_STYLES[number % len(_STYLES)],
            marker=_MARKERS[number % len(_MARKERS)],
            label=name if number < _MOST_NAMES else None,
        )
        bands = [(mean.low, mean.high) for _, mean in known if mean.low is not None and mean.high is not None]
        if len(bands) == len(known):
            low, high = ([100 * end for end in ends] for ends in zip(*bands, strict=True))
            panel.fill_between(x, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    values = {float(row.values[axis]) for row in rows}
    if min(values) > 0 and max(values) / min(values) >= 30:
        panel.set_xscale("log")
    if len(values) <= _MOST_TICKS:
        panel.set_xticks(sorted(values), [f"{value:g}" for value in sorted(values)])
        panel.minorticks_off()
    panel.set_xlabel(axis)
    if len(lines) > 1:
        panel.legend(fontsize=8, title=None)


def _bars(panel: Any, rows: Sequence[Row], key: str) -> None:
    known = [(", ".join(row.labels.values()), row.measures[key]) for row in rows if key in row.measures]
    places = range(len(known))
    heights = [100 * mean.value for _, mean in known]
    panel.bar(places, heights, width=0.6)
    for place, (_, mean) in zip(places, known, strict=True):
        if mean.low is not None and mean.high is not None:
            around = [[100 * (mean.value - mean.low)], [100 * (mean.high - mean.value)]]
            panel.errorbar(place, 100 * mean.value, yerr=around, color="black", capsize=4)
    names = [name.replace(", ", "\n") for name, _ in known]
    panel.set_xticks(list(places), names, rotation=30, ha="right", fontsize=8)
    panel.set_xlabel(", ".join(rows[0].labels))
