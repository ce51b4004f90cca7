"""Lines over a scale as SVG: its colours are the page's, so that dark mode and print follow.

Lines differ in colour, in dashes and in the marks on them: two of the three can be lost.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from markupsafe import Markup

from fedward.reports.numbers import at_most_figure, figure, percent, percent_certified, thin
from fedward.reports.page.charts.axis import Axis
from fedward.reports.page.charts.tables import Cell, Table, numbers
from fedward.reports.templates import fill

WIDTH, HEIGHT = 460, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 446, 12, 236
_COLOURS, _DASHES, _MARKS = 8, 5, 6
_MOST_MARKS = 12
_MOST_POINTS = 300
_MOST_ROWS = 40

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """One line. ``stairs`` keeps its height until the next point."""

    name: str
    points: tuple[Point, ...]
    stairs: bool = False


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Some lines, what their axes are, and what a reader must know; ``key`` is its id in the page.

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
    promise: Literal["none", "at most", "at least"] = "none"

    @property
    def drawn(self) -> bool:
        """Whether there is anything to draw."""
        return any(line.points for line in self.lines)

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
        for number, line in enumerate(self.lines):
            points = thin(line.points, _MOST_POINTS)
            places = [f"{x(each):.1f} {y(height):.1f}" for each, height in points]
            if line.stairs:
                corners = [f"{x(b):.1f} {y(a):.1f}" for (_, a), (b, _) in itertools.pairwise(points)]
                places[1:] = [each for pair in zip(corners, places[1:], strict=True) for each in pair]
            marks = [
                _mark(number, x(a), y(b), f"{line.name}, {self.x} {self.place(a)}: {self.number(b)}")
                for a, b in thin(points, _MOST_MARKS)
            ]
            if points:
                lines.append((style(number), f"M{'L'.join(places)}", Markup("".join(marks))))
        box = {"left": _LEFT, "right": _RIGHT, "top": _TOP, "bottom": _BOTTOM}
        box |= {"width": WIDTH, "height": HEIGHT}
        return fill("page/charts/chart.svg", chart=self, across=across, up=up, x=x, y=y, lines=lines, **box)

    def legend(self) -> list[tuple[str, Markup]]:
        """Every line's name with a sample of it."""
        return [(line.name, sample(number)) for number, line in enumerate(self.lines) if line.points]

    def table(self) -> Table:
        """The numbers that are drawn, for those who cannot see them, or want them."""
        shown = [line for line in self.lines if line.points]
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


def style(number: int) -> str:
    """The classes of a line: no two of the first forty are the same."""
    return f"c{number % _COLOURS} d{number % _DASHES}"


def sample(number: int) -> Markup:
    """A piece of a line with its mark, for a legend."""
    return Markup(
        f'<svg class="sample" viewBox="0 0 36 12" aria-hidden="true">'
        f'<path class="line {style(number)}" d="M1 6L35 6"></path>{_mark(number, 18, 6, "")}</svg>'
    )


def _mark(number: int, x: float, y: float, told: str) -> Markup:
    kind = number % _MARKS
    shape = {"corners": _CORNERS.get(kind), "square": kind == 1, "colour": number % _COLOURS}
    return fill("page/charts/mark.svg", x=x, y=y, told=told, **shape)


def _corners(count: int, turn: float, inner: float = 4.4) -> list[Point]:
    """Corners on a circle, or on two by turns, around a mark's middle."""
    corners = []
    for corner in range(count):
        angle, radius = math.radians(turn + 360 * corner / count), inner if corner % 2 else 4.4
        corners.append((radius * math.cos(angle), radius * math.sin(angle)))
    return corners


# Triangle, diamond, triangle on its head, star.
_CORNERS = {2: _corners(3, -90), 3: _corners(4, -90), 4: _corners(3, 90), 5: _corners(10, -90, 2.0)}
