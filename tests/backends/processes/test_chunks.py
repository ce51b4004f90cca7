from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.backends.processes.chunks import MOST_BYTES, SECONDS, Chunk, Cutter, Pace, Sized
from fedward.core.failure import TrainingFailed


def cutter(
    items: Iterable[Any],
    *,
    rate: float | None = None,
    fixed: int | None = None,
    weight: float = 1,
    size: int = 0,
    parts: int = 1,
) -> Cutter:
    pace = Pace()
    pace.rate = rate
    return Cutter(items, lambda item: Sized(item, weight, size), pace=pace, fixed=fixed, parts=parts)


def sizes(cut: Cutter, chunks: int) -> list[int]:
    return [len(cut.cut()) for _ in range(chunks)]


@given(
    st.integers(0, 40),
    st.one_of(st.none(), st.integers(1, 50)),
    st.one_of(st.none(), st.floats(1e-9, 1e3)),
    st.integers(0, 2 * MOST_BYTES),
    st.integers(1, 8),
    st.booleans(),
)
def test_chunks_together_are_all_items_in_their_order(
    count: int, fixed: int | None, rate: float | None, size: int, parts: int, lazy: bool
) -> None:
    items: Iterable[int] = iter(range(count)) if lazy else range(count)
    cut = cutter(items, rate=rate, fixed=fixed, size=size, parts=parts)
    chunks = list(iter(cut.cut, []))
    assert [each.item for chunk in chunks for each in chunk] == list(range(count))
    assert all(len(chunk) * size <= MOST_BYTES or len(chunk) == 1 for chunk in chunks)
    assert cut.cut() == []


def test_the_first_chunk_is_one_item_and_later_ones_take_the_time_they_should() -> None:
    pace = Pace()
    cut = Cutter(itertools.count(), lambda item: Sized(item, 5, 0), pace=pace, fixed=None, parts=4)
    assert len(cut.cut()) == 1
    pace.measured(SECONDS / 10, 5)
    assert len(cut.cut()) == 10
    pace.measured(3 * SECONDS / 10, 5)  # smoothed: between the two
    assert len(cut.cut()) == 5


def test_heavy_items_come_alone_and_light_ones_together() -> None:
    weights = {0: 100, 1: 1, 2: 1, 3: 1, 4: 1}
    pace = Pace()
    pace.rate = SECONDS / 4
    cut = Cutter(iter(range(5)), lambda item: Sized(item, weights[item], 0), pace=pace, fixed=None, parts=1)
    assert sizes(cut, 3) == [1, 4, 0]


def test_a_given_size_is_kept() -> None:
    assert sizes(cutter(range(8), rate=100.0, fixed=3), 4) == [3, 3, 2, 0]


def test_large_results_come_in_small_chunks() -> None:
    assert sizes(cutter(range(5), fixed=1000, size=MOST_BYTES // 2), 4) == [2, 2, 1, 0]


def test_a_few_quick_items_are_still_shared_among_workers() -> None:
    found = sizes(cutter(list(range(40)), rate=0.001, parts=4), 6)
    assert found[0] == 10
    assert found[1] == 8


def test_a_chunk_is_worth_its_message() -> None:
    assert sizes(cutter(list(range(40)), rate=0.0002, parts=40), 3) == [10, 10, 10]


def test_no_more_items_are_taken_than_a_chunk_needs() -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in itertools.count():
            taken.append(number)
            yield number

    cutter(items(), fixed=3).cut()
    assert taken == [0, 1, 2]


def test_an_error_of_the_items_is_kept_until_what_came_before_is_done() -> None:
    def items() -> Iterator[int]:
        yield from range(4)
        raise RuntimeError("no more")

    cut = cutter(items(), fixed=3)
    assert sizes(cut, 3) == [3, 1, 0]
    assert str(cut.error) == "no more"


class Job:
    def __init__(self, user: int) -> None:
        self.user = user


def chunk(count: int) -> Chunk:
    items = [(Job(user), b"") for user in range(10, 10 + count)]
    return Chunk(task="train", items=items, weight=1, pace=Pace())


def test_a_job_at_which_three_processes_died_in_a_row_is_given_up() -> None:
    held = chunk(5)
    for place in (2, 2, 1, 2, 2):
        held.note_death(place, "signal 9")
        assert held.failure is None
    held.note_death(2, "signal 9")
    with pytest.raises(
        TrainingFailed, match=r"user 12: the worker process died 3 times at this job \(signal 9\)"
    ):
        raise held.failure or AssertionError
    assert [item[0].user for item in held.items] == [10, 11]
    assert held.results is None


def test_a_first_job_that_is_given_up_leaves_nothing_to_run() -> None:
    held = chunk(5)
    for _ in range(3):
        held.note_death(0, "exit code 3")
    assert held.results == []
    assert isinstance(held.failure, TrainingFailed)
