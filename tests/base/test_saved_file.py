from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedward.base.saved_file import json_text, write_record
from fedward.base.validate import InvalidValue


def test_only_the_form_that_is_asked_for_is_made(tmp_path: Path) -> None:
    forms = {".json": lambda: json_text({"ε": 0.1}), ".csv": lambda: pytest.fail("nobody asked for it")}
    write_record(tmp_path / "x.json", forms)
    assert (tmp_path / "x.json").read_text(encoding="utf8") == '{\n "ε": 0.1\n}\n'


def test_another_ending_or_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidValue, match=r"ends in \.csv \(pictures: \.plot\(\)\.save\(path\)\), got 'x\.txt'"
    ):
        write_record(tmp_path / "x.txt", {".csv": str})
    with pytest.raises(InvalidValue, match="directory that exists"):
        write_record(tmp_path / "no" / "x.csv", {".csv": str})
    assert not list(tmp_path.iterdir())


def test_what_is_not_finite_is_null() -> None:
    assert json.loads(json_text({"a": [float("inf"), 1.5]})) == {"a": [None, 1.5]}
