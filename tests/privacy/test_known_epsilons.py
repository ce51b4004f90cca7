from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fedward.base.own_cache import read_cache, write_cache
from fedward.privacy import known_epsilons
from fedward.privacy.known_epsilons import recall_or_compute, storing_no_epsilon

ABOUT = b"epsilons of pld"


class Counted:
    """An accountant that says how often it was asked."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> float:
        self.times += 1
        return 0.1 + 0.2


@pytest.fixture
def counted() -> Counted:
    return Counted()


def folder() -> Path:
    return Path(os.environ["XDG_CACHE_HOME"]) / "fedward" / "seen"


def stored_file() -> Path:
    (file,) = (each for each in folder().iterdir() if each.name != "key")
    return file


def flip_a_bit() -> None:
    content = bytearray(stored_file().read_bytes())
    content[-3] ^= 1
    stored_file().write_bytes(content)


def cut_off() -> None:
    stored_file().write_bytes(stored_file().read_bytes()[:40])


def sign_by_another() -> None:
    (folder() / "key").write_bytes(b"k" * 32)


def let_others_write() -> None:
    stored_file().chmod(0o622)


def replace_by_a_link() -> None:
    file = stored_file()
    file.rename(folder() / "elsewhere")
    file.symlink_to(folder() / "elsewhere")


def test_an_epsilon_is_computed_once_and_recalled_to_the_last_bit(counted: Counted) -> None:
    assert recall_or_compute("a", counted) == 0.1 + 0.2
    assert recall_or_compute("a", counted) == 0.1 + 0.2
    assert counted.times == 1
    recall_or_compute("b", counted)
    assert counted.times == 2


def test_nobody_else_can_read_or_write_it(counted: Counted) -> None:
    recall_or_compute("a", counted)
    assert stored_file().stat().st_mode & 0o777 == 0o600
    assert (folder() / "key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "damage", [flip_a_bit, cut_off, sign_by_another, let_others_write, replace_by_a_link]
)
def test_what_was_damaged_or_is_foreign_is_computed_again_in_silence(
    counted: Counted, damage: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    recall_or_compute("a", counted)
    damage()
    assert recall_or_compute("a", counted) == 0.1 + 0.2
    assert recall_or_compute("a", counted) == 0.1 + 0.2
    assert counted.times == 2
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("wrong", ["-0x1p-1", "inf", "nan", "much", 1.0, None])
def test_what_is_no_epsilon_is_computed_again(counted: Counted, wrong: object) -> None:
    recall_or_compute("a", counted)
    stored = read_cache(ABOUT)
    assert stored is not None
    (key,) = json.loads(stored)
    write_cache(ABOUT, json.dumps({key: wrong}).encode())
    assert recall_or_compute("a", counted) == 0.1 + 0.2
    assert counted.times == 2


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'"a"', b"\xff"])
def test_what_is_no_list_of_epsilons_is_written_again(counted: Counted, content: bytes) -> None:
    write_cache(ABOUT, content)
    recall_or_compute("a", counted)
    recall_or_compute("a", counted)
    assert counted.times == 1


def test_other_code_computes_its_own(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    recall_or_compute("a", counted)
    with monkeypatch.context() as changed:
        changed.setattr(known_epsilons, "_code", lambda: "another")
        recall_or_compute("a", counted)
    assert counted.times == 2
    recall_or_compute("a", counted)
    assert counted.times == 2


def test_those_that_were_stored_first_go_first(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_epsilons, "MOST", 3)
    for about in "abcd":
        recall_or_compute(about, counted)
    size = stored_file().stat().st_size
    recall_or_compute("d", counted)
    assert counted.times == 4
    recall_or_compute("a", counted)
    assert counted.times == 5
    assert stored_file().stat().st_size == size


def test_where_nothing_can_be_written_it_is_computed_each_time(
    counted: Counted, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert math.isclose(recall_or_compute("a", counted), 0.3)
    recall_or_compute("a", counted)
    assert counted.times == 2


def test_where_nothing_may_be_written_what_is_known_is_read_and_nothing_is_stored(counted: Counted) -> None:
    with storing_no_epsilon():
        recall_or_compute("a", counted)
    assert not folder().exists()
    recall_or_compute("a", counted)
    with storing_no_epsilon():
        recall_or_compute("a", counted)
    assert counted.times == 2
