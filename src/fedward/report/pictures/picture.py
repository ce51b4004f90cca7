"""A picture that shows itself in a notebook and can be saved."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedward.base.durable_files import write_atomically

if TYPE_CHECKING:  # slow to import, and most commands draw nothing
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """Args:
    figure: matplotlib's, to go on drawing in.
    """

    figure: Figure

    def png(self, dpi: int = 150) -> bytes:
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=dpi)
        return buffer.getvalue()

    def save(self, path: str | Path, dpi: int = 150) -> None:
        """Writes a PNG file, whole or not at all."""
        write_atomically(Path(path), self.png(dpi))

    def _repr_png_(self) -> bytes:
        return self.png(dpi=90)


def panels(down: int, across: int, size: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """A figure and its panels, row by row; the options are those of matplotlib's ``subplots``."""
    # Here and not above: it takes seconds to import, and most commands draw nothing.
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(down, across, squeeze=False, **options)


def label(
    panel: Any, *, x: str, y: str, title: str = "", bottom: float | None = None, legend: int = 7
) -> None:
    """Names of the axes, a grid, and a legend in letters of this size, or none where that is 0."""
    panel.set_xlabel(x)
    panel.set_ylabel(y)
    panel.set_title(title, fontsize=10)
    if bottom is not None:
        panel.set_ylim(bottom=bottom)
    panel.grid(alpha=0.3)
    if legend:
        panel.legend(fontsize=legend)
