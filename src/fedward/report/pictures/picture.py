"""A picture that shows itself in a notebook and can be saved."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
