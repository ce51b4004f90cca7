from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fedward.backends.compute import IN_PROCESS, Compute
from fedward.base.validate import InvalidValue
from fedward.studies.progress import Clock, Progress
from fedward.studies.study import carry_out


@dataclass
class Counting:
    """A study that counts to three in a file, and keeps a diary of what was asked of it."""

    diary: list[str] = field(default_factory=list)

    @contextmanager
    def open(self, path: Path, compute: Compute) -> Iterator[Path]:
        self.diary.append("locked")
        try:
            yield path
        finally:
            self.diary.append("unlocked")

    def steps(self, place: Path, compute: Compute) -> Iterator[Progress]:
        done = int(place.read_text()) if place.exists() else 0
        clock = Clock({"step": 3})
        clock.skip("step", done)
        for number in range(done, 3):
            place.write_text(str(number + 1))
            clock.tick("step")
            yield clock.progress()

    def result(self, place: Path) -> str:
        return f"counted to {place.read_text()}"


def test_it_is_planned_carried_out_and_drawn_while_it_is_locked(tmp_path: Path) -> None:
    study = Counting()
    seen: list[tuple[int, int | None]] = []

    def watch(steps: Iterable[Progress]) -> None:
        seen.extend((step.done, step.total) for step in steps)

    def draw(path: Path, result: str) -> None:
        study.diary.append(f"drew {path.name}: {result}")

    assert carry_out(study, tmp_path / "n", IN_PROCESS, watch, draw) == "counted to 3"
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert study.diary == ["locked", "drew n: counted to 3", "unlocked"]


def test_one_that_was_killed_goes_on_where_it_was_left(tmp_path: Path) -> None:
    study = Counting()
    seen: list[int] = []

    def killed(steps: Iterable[Progress]) -> None:
        next(iter(steps))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out(study, tmp_path / "n", IN_PROCESS, killed)
    assert study.diary == ["locked", "unlocked"]
    carry_out(study, tmp_path / "n", IN_PROCESS, lambda steps: seen.extend(step.done for step in steps))
    assert seen == [2, 3]


def test_a_machine_that_cannot_do_it_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    study = Counting()
    with pytest.raises(InvalidValue, match="device"):
        carry_out(study, tmp_path / "n", Compute(device="abacus"), list)
    assert study.diary == []
