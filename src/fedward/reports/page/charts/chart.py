"""Lines over a scale as SVG: its colours are the page's, so that dark mode and print follow."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from markupsafe import Markup

from fedward.reports.numbers import at_most_figure, figure, percent, percent_certified, thin
from fedward.reports.page.charts.axis import Axis
from fedward.reports.page.charts.line_style import LineStyle
from fedward.reports.page.charts.tables import Cell, Table, numbers
from fedward.reports.templates import fill

WIDTH, HEIGHT = 460, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 446, 12, 236
_MOST_MARKS = 12
_MOST_POINTS = 300
_MOST_ROWS = 40

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """One line. ``stairs`` keeps its height until the next point; a ``reference`` is of no run: a bound, say.

    Without a style it has that of its place among the lines.
    """

    name: str
    points: tuple[Point, ...]
    stairs: bool = False
    reference: bool = False
    style: LineStyle | None = None


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Some lines, what their axes are, and what a reader must know; ``key`` is its id in the page.

    The legend has the value of each line at ``rest``, or at its end, until a reader points at another place.

    ``percent`` draws shares of one; ``log`` is taken only where the values ask for it. ``across`` is what the
    other axis is: counted in whole numbers, shares of one, or shares on a logarithmic scale. ``promise`` says
    which way numbers are rounded that promise something: up where they may not be exceeded, down where they
    are reached at least.
    """

    key: str
    title: str
    y: str
    lines: tuple[Line, ...]
    x: str = "round"
    percent: bool = False
    log: bool = False
    from_zero: bool = True
    across: Literal["count", "share", "small share"] = "count"
    notes: tuple[str, ...] = field(default=())
    follows: str = ""
    rest: float | None = None
    promise: Literal["none", "at most", "at least"] = "none"

    @property
    def drawn(self) -> bool:
        """Whether there is anything to draw."""
        return any(line.points for line in self.lines)

    def of_run(self, colour: int) -> Chart:
        """The same in the colour of a run: its lines differ in dashes and marks, references have none."""
        return self._styled(
            [
                LineStyle(colour=None if line.reference else colour, shape=i)
                for i, line in enumerate(self.lines)
            ]
        )

    def of_variants(self, colours: Mapping[str, int]) -> Chart:
        """The same where each line is named after a variant that has a colour of its own."""
        return self._styled(
            [LineStyle.numbered(colours.get(line.name, i)) for i, line in enumerate(self.lines)]
        )

    def _styled(self, styles: Sequence[LineStyle]) -> Chart:
        lines = tuple(replace(line, style=style) for line, style in zip(self.lines, styles, strict=True))
        return replace(self, lines=lines)

    def _drawn_lines(self) -> list[tuple[Line, LineStyle]]:
        styled = [(line, line.style or LineStyle.numbered(number)) for number, line in enumerate(self.lines)]
        return [(line, style) for line, style in styled if line.points]

    def number(self, value: float) -> str:
        """A value on the axis that goes up."""
        if self.promise == "at most":
            return at_most_figure(value)
        if self.promise == "at least":
            return percent_certified(value)
        return percent(value) if self.percent else figure(value)

    def place(self, value: float) -> str:
        """A value on the axis that goes across."""
        return figure(value) if self.across == "count" else percent(value, 1 if value >= 0.01 else 3)

    def _axis(self, values: Sequence[float]) -> Axis:
        if self.across == "small share":
            return Axis.around(values, percent=True, log=True)
        return Axis.around(values, whole=True, percent=self.across == "share").with_room()

    def svg(self) -> Markup:
        """The picture, with its title and its description for those who do not see it."""
        xs, ys = zip(*(point for line in self.lines for point in line.points), strict=True)
        across = self._axis(xs)
        steep = self.log and min(ys) > 0 and max(ys) / min(ys) > 50
        up = Axis.around(ys, percent=self.percent, from_zero=self.from_zero, log=steep, most=5)

        def x(value: float) -> float:
            return _LEFT + across.place(value) * (_RIGHT - _LEFT)

        def y(value: float) -> float:
            return _BOTTOM - up.place(value) * (_BOTTOM - _TOP)

        lines = []
        for line, style in self._drawn_lines():
            points = thin(line.points, _MOST_POINTS)
            places = [f"{x(each):.1f} {y(height):.1f}" for each, height in points]
            if line.stairs:
                corners = [f"{x(b):.1f} {y(a):.1f}" for (_, a), (b, _) in itertools.pairwise(points)]
                places[1:] = [each for pair in zip(corners, places[1:], strict=True) for each in pair]
            marks = [
                style.mark(x(a), y(b), f"{line.name}, {self.x} {self.place(a)}: {self.number(b)}")
                for a, b in thin(points, _MOST_MARKS)
            ]
            lines.append((style, f"M{'L'.join(places)}", Markup("".join(marks))))
        box = {"left": _LEFT, "right": _RIGHT, "top": _TOP, "bottom": _BOTTOM}
        box |= {"width": WIDTH, "height": HEIGHT}
        return fill("page/charts/chart.svg", chart=self, across=across, up=up, x=x, y=y, lines=lines, **box)

    def legend(self) -> list[tuple[str, Markup, str]]:
        """Every line's name with a sample of it, and its value where the chart rests."""
        return [
            (line.name, style.sample, self.number(self._resting(line)[1]))
            for line, style in self._drawn_lines()
        ]

    def resting_place(self) -> str:
        """Where on the axis that goes across the legend's values are; nothing where lines end apart."""
        places = {self._resting(line)[0] for line, _ in self._drawn_lines()}
        return f"{self.x}: {self.place(places.pop())}" if len(places) == 1 else ""

    def _resting(self, line: Line) -> Point:
        before = [point for point in line.points if self.rest is None or point[0] <= self.rest]
        return max(before, default=line.points[0])

    def table(self) -> Table:
        """The numbers that are drawn, for those who cannot see them, or want them."""
        shown = [line for line, _ in self._drawn_lines()]
        xs = sorted({x for line in shown for x, _ in line.points})
        values = [dict(line.points) for line in shown]
        rows = [
            [
                Cell(f"{x:g}" if self.across == "count" else self.place(x), x),
                *(Cell(self.number(own[x]), own[x]) if x in own else Cell("") for own in values),
            ]
            for x in thin(xs, _MOST_ROWS)
        ]
        left_out = f" (every {-(-len(xs) // _MOST_ROWS)}th or so)" if len(xs) > _MOST_ROWS else ""
        return Table(
            caption=f"{self.title}: the numbers{left_out}",
            columns=numbers(self.x, *(line.name for line in shown)),
            rows=rows,
        )
