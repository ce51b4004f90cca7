"""How a run that was read shows itself: as a picture, and in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedward.report.picture import Picture


class Shown:
    """For records of runs. What draws them is imported when it is asked for: it reads records itself."""

    def plot(self) -> Picture:
        """Its curves: a notebook shows them, ``.save(path)`` writes PNG, ``.figure`` is matplotlib's."""
        from fedward.report.record_picture import picture_of

        return picture_of(self)  # type: ignore[arg-type]  # the records below this class are what it draws

    def _repr_html_(self) -> str:
        from fedward.report.record_picture import html_of

        return html_of(self)  # type: ignore[arg-type]
