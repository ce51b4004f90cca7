"""One live display for all long work: how far it is, what is known, how long the rest takes.

On a terminal and in a notebook; where nobody looks there is none, and nothing is computed for it.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import TypeVar

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from fedward.report.numbers import duration

T = TypeVar("T")
# Nobody reads faster, and a notebook keeps what it is sent.
_BETWEEN = 0.2


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where work stands: steps, what they are (``round 12 of 30``), what is known so far with the most
    important first, and the seconds that the rest takes, None while nobody can know."""

    done: int
    total: int
    title: str
    facts: tuple[str, ...] = ()
    seconds_left: float | None = None

    @property
    def left(self) -> str:
        """How long the rest takes, for people; nothing when all is done."""
        if self.done >= self.total:
            return ""
        if self.seconds_left is None:
            return "measuring how long it takes"
        return f"about {duration(self.seconds_left)} left"


def follow(console: Console, steps: Iterable[T], standing: Callable[[T], Standing]) -> T | None:
    """Goes through the steps and shows where they stand; returns the last.

    ``standing`` is only asked where somebody looks, and not for every step of many.
    """
    step = None
    with _display(console) as show:
        shown, late = -_BETWEEN, False
        for step in steps:
            late = show is not None and time.monotonic() - shown < _BETWEEN
            if show is not None and not late:
                show(standing(step))
                shown = time.monotonic()
        if show is not None and step is not None and late:
            show(standing(step))
    return step


@contextmanager
def _display(console: Console) -> Iterator[Callable[[Standing], None] | None]:
    """What shows a standing: a line of a notebook, or of a terminal; None where nobody looks."""
    if console.is_jupyter:
        ipython = importlib.import_module("IPython.display")  # a notebook has it; nobody else needs it
        handle = ipython.display(ipython.HTML(""), display_id=True)
        yield lambda standing: handle.update(ipython.HTML(as_html(standing)))
        return
    if not console.is_terminal:
        yield None
        return
    title, left = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[left]}"))
    bar = Progress(title, BarColumn(), TimeElapsedColumn(), left, console=console)
    task = bar.add_task("", total=None, left="")
    with Live(bar, console=console, refresh_per_second=4) as live:

        def show(now: Standing) -> None:
            bar.update(task, description=now.title, completed=now.done, total=now.total, left=now.left)
            live.update(Group(bar, *([Text(" · ".join(now.facts))] if now.facts else [])))

        yield show


def as_html(standing: Standing) -> str:
    """One line with a bar, and the facts below it.

    >>> as_html(Standing(done=1, total=4, title="round 1 of 4", facts=("accuracy < 50 %",), seconds_left=3))
    '<div>round 1 of 4 <progress value="1" max="4"></progress> about 3 s left<br>accuracy &lt; 50 %</div>'
    """
    facts = " · ".join(standing.facts)
    return (
        f'<div>{escape(standing.title)} <progress value="{standing.done}" max="{standing.total}"></progress> '
        f"{escape(standing.left)}{'<br>' if facts else ''}{escape(facts)}</div>"
    )
