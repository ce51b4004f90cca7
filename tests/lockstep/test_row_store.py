from __future__ import annotations

import os

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from core.hostile_tensors import UNFIT
from core.rounds import GARBAGE
from fedward.base.validate import InvalidValue
from fedward.core.types import Row
from fedward.lockstep.row_store import RowStore


@given(
    memory=st.integers(0, 100),
    sizes=st.lists(st.integers(1, 9), max_size=12),
    double=st.booleans(),
)
def test_rows_come_back_with_every_bit_wherever_they_lay(memory: int, sizes: list[int], double: bool) -> None:
    store = RowStore(memory=memory)
    dtype = torch.float64 if double else torch.float32
    rows = [Row(u, torch.randn(size, dtype=dtype), 0.5 * u) for u, size in enumerate(sizes)]
    for row in rows:
        store.put(("row", row.user), row)
    assert len(store) == len(rows)
    for row in reversed(rows):
        found = store.get(("row", row.user))
        assert (found.user, found.norm) == (row.user, row.norm)
        assert torch.equal(found.update, row.update)
        assert found.update.dtype == dtype


def test_a_user_that_dropped_out_is_kept_as_such() -> None:
    store = RowStore(memory=0)
    store.put("gone", Row(4, None))
    assert store.get("gone").update is None


def test_what_does_not_fit_in_memory_is_not_held_there() -> None:
    store = RowStore(memory=1000)
    for user in range(100):
        store.put(user, Row(user, torch.full((100,), float(user))))
    held = sum(isinstance(row, Row) for row in store._rows.values())
    assert held == 2
    assert float(store.get(99).update[0]) == 99.0


def test_a_row_that_was_read_may_be_written_to_without_harm() -> None:
    store = RowStore(memory=0)
    store.put("a", Row(0, torch.ones(3)))
    store.get("a").update.zero_()
    assert store.get("a").update.tolist() == [1, 1, 1]


def test_clearing_closes_the_file() -> None:
    store = RowStore(memory=0)
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    store.put("a", Row(0, torch.ones(3)))
    store.clear()
    assert "a" not in store
    if before is not None:
        assert len(os.listdir("/proc/self/fd")) == before
    store.put("b", Row(1, torch.ones(2)))
    assert store.get("b").update.tolist() == [1, 1]


def test_memory_that_was_cleared_is_used_again() -> None:
    store = RowStore(memory=12)
    for _ in range(3):
        store.put("a", Row(0, torch.ones(3)))
        assert isinstance(store._rows["a"], Row)
        store.clear()


@given(
    memory=st.integers(0, 60),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 9), st.integers(1, 4)), max_size=30),
)
def test_rows_that_are_taken_out_give_their_room_to_others(
    memory: int, steps: list[tuple[bool, int, int]]
) -> None:
    store = RowStore(memory=memory)
    expected: dict[int, torch.Tensor] = {}
    for out, name, size in steps:
        if out and name in expected:
            assert torch.equal(store.pop(name).update, expected.pop(name))
            assert name not in store
        elif name not in expected:
            expected[name] = torch.randn(size)
            store.put(name, Row(name, expected[name]))
        assert all(torch.equal(store.get(name).update, row) for name, row in expected.items())
    for name in list(expected):
        store.pop(name)
    assert store.free == memory
    assert len(store) == 0


def test_a_row_in_the_room_of_another_does_not_reach_those_behind_it() -> None:
    store = RowStore(memory=0)
    for user in (0, 1):
        store.put(user, Row(user, torch.full((3,), float(user))))
    store.pop(0)
    for user in (2, 3, 4):
        store.put(user, Row(user, torch.full((3,), float(user))))
    assert [store.get(user).update.tolist() for user in (1, 2, 3, 4)] == [[u] * 3 for u in (1, 2, 3, 4)]


def test_the_file_does_not_grow_by_rows_that_come_and_go() -> None:
    store = RowStore(memory=0)
    for user in range(50):
        store.put(user, Row(user, torch.ones(100)))
        store.put("other", Row(user, torch.ones(100)))
        store.pop(user)
        store.pop("other")
    assert store._file is not None
    assert os.fstat(store._file.fileno()).st_size == 800


def test_a_file_that_takes_little_at_a_time_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    write, read = os.pwrite, os.pread
    monkeypatch.setattr(os, "pwrite", lambda file, content, place: write(file, content[:7], place))
    monkeypatch.setattr(os, "pread", lambda file, count, place: read(file, min(5, count), place))
    store = RowStore(memory=0)
    rows = {name: torch.randn(9) for name in "abc"}
    for user, (name, update) in enumerate(rows.items()):
        store.put(name, Row(user, update))
    assert all(torch.equal(store.get(name).update, update) for name, update in rows.items())


def test_memory_must_be_a_number_of_bytes() -> None:
    with pytest.raises(InvalidValue, match="memory must be"):
        RowStore(memory=-1)


@pytest.mark.filterwarnings("ignore")  # torch warns about kinds of tensors that it is leaving
@pytest.mark.parametrize("kind", sorted({*UNFIT, "numpy"} - {"one that broadcasts"}))
def test_what_is_no_update_is_kept_as_it_came_for_the_round_to_reject(kind: str) -> None:
    row = Row(3, UNFIT[kind](torch.ones(23)) if kind in UNFIT else GARBAGE[kind])
    store = RowStore(memory=0)
    store.put("a", row)
    assert store.get("a") is row
    assert store.pop("a") is row
    assert store.free == 0
