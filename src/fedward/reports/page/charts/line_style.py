"""How a line is drawn: its colour, its dashes and its marks. Two of the three can be lost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup

from fedward.reports.templates import fill

_COLOURS, _DASHES, _MARKS = 8, 5, 6
_REFERENCE = "ref"


@dataclass(frozen=True, kw_only=True)
class LineStyle:
    """The look of a line.

    Args:
      colour: the number of the run that it is of, which has the same colour on the whole page; None for
        what is of no run: a bound, or what guessing would come to.
      shape: which dashes and which marks.
    """

    colour: int | None
    shape: int

    @classmethod
    def numbered(cls, number: int) -> LineStyle:
        """One of many: no two of the first forty are drawn alike."""
        return cls(colour=number, shape=number)

    @property
    def hue(self) -> str:
        """The class of its colour."""
        return _REFERENCE if self.colour is None else f"c{self.colour % _COLOURS}"

    @property
    def classes(self) -> str:
        """The classes of its line.

        >>> LineStyle(colour=9, shape=1).classes, LineStyle(colour=None, shape=0).classes
        ('c1 d1', 'ref d0')
        """
        return f"{self.hue} d{self.shape % _DASHES}"

    def mark(self, x: float, y: float, told: str = "") -> Markup:
        """A mark on it, with what it says where it is hovered over."""
        kind = self.shape % _MARKS
        return fill(
            "page/charts/mark.svg",
            x=x,
            y=y,
            told=told,
            corners=_CORNERS.get(kind),
            square=kind == 1,
            hue=self.hue,
        )

    @property
    def sample(self) -> Markup:
        """A piece of the line with its mark, for a legend or beside a name."""
        return Markup(
            f'<svg class="sample" viewBox="0 0 36 12" aria-hidden="true">'
            f'<path class="line {self.classes}" d="M1 6L35 6"></path>{self.mark(18, 6)}</svg>'
        )


def _corners(count: int, turn: float, inner: float = 4.4) -> list[tuple[float, float]]:
    """Corners on a circle, or on two by turns, around a mark's middle."""
    corners = []
    for corner in range(count):
        angle, radius = math.radians(turn + 360 * corner / count), inner if corner % 2 else 4.4
        corners.append((radius * math.cos(angle), radius * math.sin(angle)))
    return corners


# Triangle, diamond, triangle on its head, star.
_CORNERS = {2: _corners(3, -90), 3: _corners(4, -90), 4: _corners(3, 90), 5: _corners(10, -90, 2.0)}
