"""The styles of pictures: for a screen, or for one or two columns of a paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedward.base.validate import one_of

StyleName = Literal["screen", "paper", "paper-wide"]


@dataclass(frozen=True, kw_only=True)
class PictureStyle:
    """How a picture is set.

    Args:
      width: of the whole picture in inches; None where each picture has its own size.
      height: of a panel in inches, where the width is fixed.
      across: the most panels side by side.
      letters, small: sizes of letters in points: of axes, and of legends.
      line: width of a line in points.
      titles: whether panels have titles; a paper has captions instead.
      colours: of lines, in their order.
    """

    width: float | None = None
    height: float = 0.0
    across: int = 3
    letters: float = 10.0
    small: float = 7.0
    line: float = 1.5
    titles: bool = True
    colours: tuple[str, ...]


_SCREEN = ("C0", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9")
# Each differs in lightness from those beside it: they can be told apart where no colour is printed.
_PRINT = ("#000000", "#c8641e", "#1f4e9c", "#6fb0dd", "#6a2c70", "#8fbf5a", "#9c1c1c", "#e0a93b")

STYLES: dict[str, PictureStyle] = {
    "screen": PictureStyle(colours=_SCREEN),
    "paper": PictureStyle(
        width=3.3, height=2.2, across=1, titles=False, letters=8.0, small=8.0, line=1.1, colours=_PRINT
    ),
    "paper-wide": PictureStyle(
        width=6.9, height=2.2, across=3, titles=False, letters=8.0, small=8.0, line=1.1, colours=_PRINT
    ),
}
DASHES = ("-", "--", "-.", ":")
MARKS = "osD^vPX*<"
"""Nine: no style has a number of colours that shares a divisor with it, so many pairs differ."""


def style_called(name: str) -> PictureStyle:
    """The style of this name."""
    one_of("style", name, tuple(STYLES))
    return STYLES[name]
