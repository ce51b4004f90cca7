from __future__ import annotations

from pathlib import Path

import pooch
import pytest

from fedward.base.validate import InvalidType, InvalidValue
from fedward.datasets.directory import data_directory


def test_the_option_wins_over_the_variable_and_the_variable_over_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDWARD_DATA", str(tmp_path / "variable"))
    assert data_directory(tmp_path / "option") == tmp_path / "option"
    assert data_directory() == tmp_path / "variable"
    monkeypatch.delenv("FEDWARD_DATA")
    assert data_directory() == Path(pooch.os_cache("fedward"))


def test_an_empty_variable_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDWARD_DATA", "")
    assert data_directory() == Path(pooch.os_cache("fedward"))


def test_a_tilde_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_directory("~/data") == tmp_path / "data"


def test_what_is_not_a_path_is_refused() -> None:
    with pytest.raises(InvalidType, match="data directory must be a path, got 3"):
        data_directory(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="data directory must be a path, got ''"):
        data_directory("")
