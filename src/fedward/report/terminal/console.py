"""The console that prints everything people read, exactly as it is written."""

from __future__ import annotations

from rich.console import Console


def plain_console(*, stderr: bool = False, quiet: bool = False, width: int | None = None) -> Console:
    """A console that prints text as it is: names of files may have [brackets] and :colons: in them.

    Rich would take brackets for a style and lose them, or find that one was never begun and give up.

    >>> plain_console(width=40).print("runs/[red]", "a[/x]", ":smile:")
    runs/[red] a[/x] :smile:
    """
    return Console(stderr=stderr, quiet=quiet, width=width, markup=False, emoji=False)
