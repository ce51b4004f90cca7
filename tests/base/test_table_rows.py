from __future__ import annotations

import csv
import io

import pytest

from fedward.base.table_rows import csv_lines, csv_text


@pytest.mark.parametrize(
    "text",
    ["=cmd|'/C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-", "\uff1d1", "\uff0b1+1"],
)
def test_a_text_that_begins_like_a_formula_is_quoted(text: str) -> None:
    for content in (csv_text([{"note": text}]), csv_lines(["note"], [[text]])):
        assert list(csv.reader(io.StringIO(content, newline="")))[1:] == [["'" + text.replace("\r", "\\r")]]


def test_a_heading_is_quoted_too() -> None:
    assert csv_text([{"=1+1": 2}]) == "'=1+1\n2\n"


def test_a_line_break_in_a_cell_makes_no_row() -> None:
    content = csv_text([{"note": "a\r=1,2\n=3"}])
    assert list(csv.reader(io.StringIO(content, newline="")))[1:] == [["a\\r=1,2\n=3"]]


def test_numbers_stay_numbers() -> None:
    row = {"loss": -0.5, "rounds": 3, "none": None, "text": "-0.5", "name": "a=b", "infinite": float("-inf")}
    assert csv_text([row]).splitlines()[1] == "-0.5,3,,-0.5,a=b,-inf"
