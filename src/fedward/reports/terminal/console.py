"""The console that prints everything people read, exactly as it is written, and its lines and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.table import Table

from fedward.base.visible_text import visible


class _VisibleConsole(Console):
    """A console that obeys no character of what it prints: only rich's own codes move the cursor."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        shown = (
            Segment(visible(text, lines=True), style, control)
            if not control
            else Segment(text, style, control)
            for text, style, control in buffer
        )
        return super()._render_buffer(shown)


def plain_console(*, stderr: bool = False, quiet: bool = False, width: int | None = None) -> Console:
    """A console that prints text as it is: names of files may have [brackets] and :colons: in them.

    Rich would take brackets for a style and lose them, or find that one was never begun and give up. What a
    terminal would obey (escapes, other controls, turns of direction) is printed as an escape that is seen.

    >>> plain_console(width=40).print("runs/[red]", "a[/x]", ":smile:")
    runs/[red] a[/x] :smile:
    """
    return _VisibleConsole(stderr=stderr, quiet=quiet, width=width, markup=False, emoji=False)


def say(console: Console, *lines: str | None, style: str | None = None) -> None:
    """Prints lines that are neither coloured by what is in them nor broken: not at the width of the console,
    and not by a line break in a name.

    Those that are None are left out.
    """
    for line in (line for line in lines if line is not None):
        console.print(visible(line), style=style, highlight=False, markup=False, soft_wrap=True)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1, **options: Any) -> Table:
    """A table, flush right but for so many columns on its left; the options are rich's."""
    found = Table(*map(visible, headings), **options)
    for column in found.columns[left:]:
        column.justify = "right"
    for row in rows:
        found.add_row(*map(visible, row))
    return found
