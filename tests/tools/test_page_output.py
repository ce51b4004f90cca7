from __future__ import annotations

import pytest

import page_output

TABLE = """native engine, avx2
┃ round ┃ accuracy ┃   loss ┃      ε ┃
│     5 │   69.92% │ 1.2138 │ 1.8275 │
(ε = 1.8275, δ = 0.001) user level, 5 rounds, after 3.2 s
"""


def test_what_training_brings_may_differ_and_what_is_promised_may_not() -> None:
    elsewhere = (
        TABLE.replace("69.92", "70.1").replace("1.2138", "1.1").replace("3.2", "0.9").replace("avx2", "neon")
    )
    assert page_output.missing(TABLE, elsewhere) is None
    for wrong in (
        TABLE.replace("│ 1.8275", "│ 1.8276"),
        TABLE.replace("ε = 1.8275", "ε = 1.8276"),
        TABLE.replace("5 rounds", "6 rounds"),
        TABLE.replace("│     5", "│     6"),
        TABLE.replace("user level", "example level"),
    ):
        assert page_output.missing(wrong, TABLE) is not None


def test_a_claim_may_leave_lines_out_but_not_turn_them_around() -> None:
    assert page_output.missing("one\n...\nthree or ...", "one\ntwo\nthree or four") is None
    assert page_output.missing("three\none", "one\ntwo\nthree") == "one"


def test_a_refreshed_claim_keeps_its_lines_and_takes_new_numbers() -> None:
    assert page_output.refreshed("", "a 1.5\n") == "a 1.5\n"
    assert page_output.refreshed("...\nb 2.5 in round 3", "a 1.0\nb 2.0 in round 2\nb 3.0 in round 3") == (
        "...\nb 3.0 in round 3\n"
    )
    with pytest.raises(ValueError, match="nothing like this"):
        page_output.refreshed("c 1.0", "a 1.0\n")
