"""One live display for all long work: how far it is, what is known, how long the rest takes.

On a terminal and in a notebook; where nobody looks there is none, and nothing is computed for it.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.text import Text

from fedward.base.visible_text import visible
from fedward.reports.numbers import duration
from fedward.studies.progress import Progress

# Nobody reads faster, and a notebook keeps what it is sent.
_BETWEEN = 0.2


def follow(
    console: Console, steps: Iterable[Progress], words: Callable[[Progress], Sequence[str]]
) -> Progress | None:
    """Goes through the steps and shows where they stand; returns the last.

    ``words`` says what a step is (``round 12 of 30``) and then what is known so far, the most important
    first. It is only asked where somebody looks, and not for every step of many.
    """
    step = None
    with _display(console) as show:
        shown, late = -_BETWEEN, False
        for step in steps:
            late = show is not None and time.monotonic() - shown < _BETWEEN
            if show is not None and not late:
                show(step, *words(step))
                shown = time.monotonic()
        if show is not None and step is not None and late:
            show(step, *words(step))
    return step


@contextmanager
def _display(console: Console) -> Iterator[Callable[..., None] | None]:
    """What shows a step and its words: a line of a notebook, or of a terminal; None where nobody looks."""
    if console.quiet:
        yield None
        return
    if console.is_jupyter:
        ipython = importlib.import_module("IPython.display")  # a notebook has it; nobody else needs it
        handle = ipython.display(ipython.HTML(""), display_id=True)
        yield lambda step, *words: handle.update(ipython.HTML(as_html(step, *words)))
        return
    if not console.is_terminal:
        yield None
        return
    title, left = (TextColumn(text, markup=False) for text in ("{task.description}", "{task.fields[left]}"))
    bar = Bar(title, BarColumn(), TimeElapsedColumn(), left, console=console)
    task = bar.add_task("", total=None, left="")
    with Live(bar, console=console, refresh_per_second=4) as live:

        def show(now: Progress, title: str, *facts: str) -> None:
            bar.update(
                task, description=visible(title), completed=now.done, total=now.total, left=time_left(now)
            )
            live.update(Group(bar, *([Text(visible(" · ".join(facts)))] if facts else [])))

        yield show


def time_left(step: Progress) -> str:
    """How long the rest takes, for people; nothing when all is done."""
    if step.done >= step.total:
        return ""
    if step.seconds_left is None:
        return "measuring how long it takes"
    return f"about {duration(step.seconds_left)} left"


def as_html(step: Progress, title: str, *facts: str) -> str:
    """One line with a bar, and the facts below it.

    >>> as_html(Progress(done=1, total=4, seconds_left=3), "round 1 of 4", "accuracy < 50 %")
    '<div>round 1 of 4 <progress value="1" max="4"></progress> about 3 s left<br>accuracy &lt; 50 %</div>'
    """
    known = " · ".join(facts)
    return (
        f'<div>{escape(title)} <progress value="{step.done}" max="{step.total}"></progress> '
        f"{escape(time_left(step))}{'<br>' if known else ''}{escape(known)}</div>"
    )
