"""Tables of the page: every cell has a text, and a value to sort by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fedward.reports.numbers import at_most_figure, percent


@dataclass(frozen=True)
class Cell:
    """What is read, and what is sorted by: the text itself if nothing else is given.

    A name may have a ``sample`` of its line before it, and lead ``to`` the part of the page with that id.
    """

    text: str
    value: float | str | None = None
    sample: Markup | None = None
    to: str = ""

    @property
    def key(self) -> str:
        """As it stands in the page; nothing for what has no value, which is sorted last."""
        if self.value is None:
            return self.text
        return self.value if isinstance(self.value, str) else f"{self.value:.17g}"


def share_cell(value: float | None) -> Cell:
    """A share in percent; nothing where there is none."""
    return Cell("") if value is None else Cell(percent(value), value)


def bound_cell(value: float, of: str = "") -> Cell:
    """An ε or a δ, which is rounded up."""
    return Cell(f"{at_most_figure(value)}{of}", value)


@dataclass(frozen=True)
class Column:
    """A heading; numbers are set flush right and sorted as numbers."""

    title: str
    number: bool = False


def numbers(*titles: str) -> list[Column]:
    """Headings over numbers."""
    return [Column(title, number=True) for title in titles]


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows under headings. The first cell of a row says what the row is about."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
