"""The log of digests: what it says, what a kill may leave of it, and that damage of it is noticed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.rundir.digest_log import DigestLog, FileState, change_line, parse_log, whole_log

ONE, TWO = FileState.of(b"one"), FileState.of(b"two")


def log_of(*changes: dict[str, FileState | None], settled: bool = False) -> bytes:
    content = whole_log({"run.json": ONE}, adopted=False)
    check = parse_log(content, "log").check
    for each in changes:
        line, check = change_line(each, check, settled=settled)
        content += line
    return content


def parse(content: bytes) -> DigestLog:
    return parse_log(content, "digests.jsonl")


def test_only_what_was_announced_last_may_be_as_it_was() -> None:
    log = parse(log_of({"run.json": TWO}, {"ledger.json": ONE}))
    assert log.right("run.json") == (TWO,)
    assert log.right("ledger.json") == (ONE, None)
    assert log.right("model.pt") == (None,)


def test_what_is_settled_has_one_right_content() -> None:
    log = parse(log_of({"run.json": TWO, "ledger.json": None}, settled=True))
    assert log.right("run.json") == (TWO,)
    assert log.before == {}


def test_a_file_that_goes_is_right_with_its_old_content_or_not_there() -> None:
    assert parse(log_of({"run.json": None})).right("run.json") == (None, ONE)


@given(st.integers(0, 10_000))
def test_a_last_line_that_a_kill_cut_off_anywhere_is_none(place: int) -> None:
    whole = log_of({"ledger.json": TWO})
    before = len(log_of())
    cut = before + place % (len(whole) - before)
    log = parse(whole[:cut])
    assert log.right("ledger.json") == (None,)
    assert log.cut_off == (cut > before)
    assert log.size == before


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_a_bit_that_flips_before_the_last_line_is_noticed(place: int, bit: int) -> None:
    content = bytearray(log_of({"ledger.json": TWO}, {"model.pt": ONE}))
    last = content.rindex(b"\n", 0, -1) + 1
    content[place % (last - 1)] ^= 1 << bit
    with pytest.raises(InvalidValue, match=r"digests\.jsonl is damaged"):
        parse(bytes(content))


@pytest.mark.parametrize("content", [b"", b"\0" * 300, b"{}\n{}\n", log_of()[:-1], log_of().split(b"\n")[0]])
def test_a_log_without_its_first_two_lines_is_damaged(content: bytes) -> None:
    with pytest.raises(InvalidValue, match="put back a copy of it"):
        parse(content)


def test_lines_in_another_order_are_damage() -> None:
    lines = log_of({"ledger.json": TWO}, {"model.pt": ONE}, {"result.json": ONE}).splitlines(keepends=True)
    with pytest.raises(InvalidValue, match="is damaged"):
        parse(b"".join([*lines[:2], lines[3], lines[2], lines[4]]))
