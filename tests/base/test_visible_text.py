from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.visible_text import visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("runs/first", "runs/first"),
        ("ε ≤ 2, Größe, 模型, زن‌ها", "ε ≤ 2, Größe, 模型, زن‌ها"),
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("a\r\nb\tc\x07", r"a\r\nb\tc\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("\u2066a\u2069", r"\u2066a\u2069"),
        ("a\u2028b", r"a\u2028b"),
        ("\udcff\udc80", r"\xff\x80"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(codec=None)))
def test_nothing_is_left_to_obey_and_everything_can_be_printed(text: str) -> None:
    for shown in (visible(text), visible(text, lines=True).replace("\n", "")):
        shown.encode()
        assert not {unicodedata.category(each) for each in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert visible(text, lines=True).count("\n") == text.count("\n")
