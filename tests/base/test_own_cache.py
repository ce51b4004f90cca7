from __future__ import annotations

import os
from pathlib import Path

import pytest

from fedward.base.own_cache import read_cache, remove_cache, write_cache

ABOUT = b"/home/ann/runs"
CONTENT = b"known"


def folder() -> Path:
    return Path(os.environ["XDG_CACHE_HOME"]) / "fedward" / "seen"


@pytest.fixture
def stored() -> Path:
    """The file of what was stored about one thing."""
    write_cache(ABOUT, CONTENT)
    assert read_cache(ABOUT) == CONTENT
    (file,) = (each for each in folder().iterdir() if each.name != "key")
    return file


def test_nothing_is_known_before_it_is_stored() -> None:
    assert read_cache(ABOUT) is None


@pytest.mark.parametrize("content", [b"", b"known", b"x" * 32 + CONTENT])
def test_what_was_edited_or_cut_off_is_not_believed(stored: Path, content: bytes) -> None:
    stored.write_bytes(content)
    assert read_cache(ABOUT) is None
    write_cache(ABOUT, CONTENT)
    assert read_cache(ABOUT) == CONTENT


def test_what_is_about_something_else_is_not_believed(stored: Path) -> None:
    mine = stored.read_bytes()
    write_cache(b"other", b"theirs")
    (other,) = (each for each in folder().iterdir() if each.name not in ("key", stored.name))
    other.write_bytes(mine)
    assert read_cache(b"other") is None
    assert read_cache(ABOUT) == CONTENT


def test_what_was_written_with_another_key_is_not_believed(stored: Path) -> None:
    """That of another machine, or of another user."""
    (folder() / "key").write_bytes(b"k" * 32)
    assert read_cache(ABOUT) is None


@pytest.mark.parametrize("name", ["key", "stored"])
@pytest.mark.parametrize("mode", [0o622, 0o620])
def test_what_others_can_write_is_not_believed(stored: Path, name: str, mode: int) -> None:
    (folder() / "key" if name == "key" else stored).chmod(mode)
    assert read_cache(ABOUT) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
@pytest.mark.parametrize("name", ["key", "stored"])
def test_what_belongs_to_somebody_else_is_not_believed(stored: Path, name: str) -> None:
    os.chown(folder() / "key" if name == "key" else stored, 12345, 12345)
    assert read_cache(ABOUT) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")
def test_nothing_is_written_to_somebody_elses_directory(tmp_path: Path) -> None:
    folder().mkdir(parents=True)
    os.chown(folder(), 12345, 12345)
    write_cache(ABOUT, CONTENT)
    assert list(folder().iterdir()) == []


def test_a_link_is_neither_followed_nor_written_through(stored: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(stored.read_bytes())
    stored.unlink()
    stored.symlink_to(theirs)
    assert read_cache(ABOUT) is None
    write_cache(ABOUT, b"new")
    assert theirs.read_bytes()[32:] == CONTENT
    assert read_cache(ABOUT) == b"new"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_or_a_directory_in_its_place_is_not_waited_for(stored: Path, make: object) -> None:
    stored.unlink()
    assert callable(make)
    make(stored)
    assert read_cache(ABOUT) is None


def test_a_pipe_in_its_place_is_replaced(stored: Path) -> None:
    stored.unlink()
    os.mkfifo(stored)
    assert write_cache(ABOUT, b"again")
    assert read_cache(ABOUT) == b"again"


def test_a_huge_file_is_not_read(stored: Path) -> None:
    os.truncate(stored, 1 << 40)  # which takes no space: nothing is in it
    assert read_cache(ABOUT) is None


@pytest.mark.parametrize("home", ["/dev/null", "/proc/none"])
def test_without_a_place_to_write_nothing_is_kept(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    write_cache(ABOUT, CONTENT)
    assert read_cache(ABOUT) is None


def test_a_relative_directory_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write_cache(ABOUT, CONTENT)
    assert [each.name for each in tmp_path.iterdir()] == ["home"]


def test_what_is_forgotten_is_not_known_any_more(stored: Path) -> None:
    remove_cache(ABOUT)
    assert not stored.exists()
    assert read_cache(ABOUT) is None
    remove_cache(ABOUT)


def test_it_says_whether_anything_was_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    assert write_cache(ABOUT, CONTENT)
    monkeypatch.setattr("fedward.base.own_cache.LARGEST", 36)
    assert not write_cache(ABOUT, CONTENT)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    assert not write_cache(ABOUT, b"")
    assert read_cache(ABOUT) is None
