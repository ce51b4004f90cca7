from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

import pytest
from rich.console import Console

from fedward.reports.terminal import live
from fedward.reports.terminal.live import follow, time_left
from fedward.studies.progress import Progress


def at(step: int) -> Progress:
    return Progress(done=step, total=3, seconds_left=60)


def words(step: Progress) -> list[str]:
    return [f"round {step.done} of 3", f"fact {step.done}", "[b]x[/b]"]


def shown(steps: list[int]) -> tuple[str, Progress | None]:
    out = StringIO()
    console = Console(file=out, width=120, force_terminal=True, color_system=None)
    last = follow(console, map(at, steps), words)
    return out.getvalue(), last


def test_the_last_step_is_always_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_BETWEEN", 1000.0)
    text, last = shown([1, 2, 3])
    assert last == at(3)
    assert "round 3 of 3" in text
    assert "fact 3 · [b]x[/b]" in text
    assert "fact 2" not in text


def test_where_nobody_looks_nothing_is_shown_or_computed() -> None:
    def never(step: Progress) -> list[str]:
        raise AssertionError

    out = StringIO()
    assert follow(Console(file=out), [at(1), at(2)], never) == at(2)
    assert out.getvalue() == ""


@pytest.mark.parametrize("notebook", [False, True])
def test_where_quiet_is_wanted_nothing_is_shown_or_computed(notebook: bool) -> None:
    def never(step: Progress) -> list[str]:
        raise AssertionError

    out = StringIO()
    console = Console(file=out, quiet=True, force_terminal=True, force_jupyter=notebook)
    assert follow(console, [at(1), at(2)], never) == at(2)
    assert out.getvalue() == ""


def test_no_steps_are_no_standing() -> None:
    text, last = shown([])
    assert last is None
    assert "round" not in text


@pytest.mark.parametrize(
    ("done", "seconds", "words"),
    [(1, None, "measuring how long it takes"), (1, 130.0, "about 2 min left"), (3, 0.0, "")],
)
def test_time_left_is_only_said_when_it_is_known(done: int, seconds: float | None, words: str) -> None:
    assert time_left(Progress(done=done, total=3, seconds_left=seconds)) == words


def test_a_failure_ends_the_display_and_goes_on() -> None:
    def steps() -> Iterator[Progress]:
        yield at(1)
        raise RuntimeError("failed")

    out = StringIO()
    with pytest.raises(RuntimeError, match="failed"):
        follow(Console(file=out, force_terminal=True), steps(), words)
    # The cursor that it had hidden is back.
    assert out.getvalue().rindex("\x1b[?25h") > out.getvalue().rindex("\x1b[?25l")
