"""A picture that shows itself in a notebook, and can be saved with the numbers that it is drawn from."""

from __future__ import annotations

import io
import os
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedward.base.durable_files import write_atomically
from fedward.base.table_rows import csv_lines
from fedward.base.validate import InvalidValue

if TYPE_CHECKING:  # slow to import, and most commands draw nothing
    from matplotlib.figure import Figure

# Without a date the same picture is the same file.
_UNDATED: dict[str, dict[str, None]] = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
# Letters stay letters, which can be searched and edited, and ids do not change from one saving to the next.
_LETTERS: dict[Any, Any] = {"pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "fedward"}


@dataclass(frozen=True, kw_only=True)
class PicturePoint:
    """One point of a picture; shares are fractions of one, and x is a name where there is no scale.

    Args:
      chart, line: what it belongs to.
      x, y: where it is.
      low, high: its interval; None where none is drawn.
    """

    chart: str
    line: str
    x: float | str
    y: float
    low: float | None = None
    high: float | None = None


def check_picture_path(path: str | os.PathLike[str], name: str = "a picture") -> Path:
    """Returns a path that a picture can be written to."""
    file = Path(path)
    if file.suffix not in _UNDATED:
        raise InvalidValue(f"{name} must end in {', '.join(_UNDATED)}, got {file.name!r}")
    if not file.parent.is_dir():
        raise InvalidValue(f"{name} must lie in a directory that exists, got {str(file)!r}")
    return file


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Picture:
    """Args:
    figure: matplotlib's, to go on drawing in.
    data: every point that is drawn.
    caption: what the picture shows in words, with what does not stand in it.
    """

    figure: Figure
    data: tuple[PicturePoint, ...] = ()
    caption: str = ""

    def save(self, path: str | os.PathLike[str], dpi: int = 150) -> None:
        """Writes a .png, .pdf or .svg file, as the path ends; whole or not at all.

        Args:
          path: the file.
          dpi: of a PNG, which has pixels; the others have none.
        """
        file = check_picture_path(path)
        write_atomically(file, self._content(file.suffix, dpi))

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Writes the numbers that are drawn with all digits, one row a point."""
        file = Path(path)
        if file.suffix != ".csv":
            raise InvalidValue(f"the numbers of a picture must go to a .csv file, got {file.name!r}")
        columns = [field.name for field in fields(PicturePoint)]
        text = csv_lines(columns, (astuple(point) for point in self.data))
        write_atomically(file, text.encode(errors="backslashreplace"))

    def png(self, dpi: int = 150) -> bytes:
        return self._content(".png", dpi)

    def _content(self, ending: str, dpi: int) -> bytes:
        from matplotlib import rc_context

        buffer = io.BytesIO()
        with rc_context(_LETTERS):
            self.figure.savefig(buffer, format=ending[1:], dpi=dpi, metadata=_UNDATED[ending])
        return buffer.getvalue()

    def __repr__(self) -> str:
        charts = ", ".join(dict.fromkeys(point.chart for point in self.data))
        return f"Picture({charts}: {len(self.data):,} points)"

    def _repr_png_(self) -> bytes:
        return self.png(dpi=90)


def save_with_numbers(picture: Picture, path: Path) -> Path:
    """Saves a picture and, beside it under the same name, its numbers; returns the file of these."""
    numbers = path.with_suffix(".csv")
    if numbers.is_symlink():  # a link is written through only where it was asked for by its name
        raise InvalidValue(f"{numbers} must be a plain file, got a symbolic link: remove it")
    picture.save(path)
    picture.to_csv(numbers)
    return numbers


def panels(down: int, across: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """A figure and its panels, row by row; the options are those of matplotlib's ``subplots``."""
    # Here and not above: it takes seconds to import, and most commands draw nothing.
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(down, across, squeeze=False, **options)
