"""Tests of files that say, or unpack to, more than there is reason for."""

from __future__ import annotations

import gzip
import io
import os
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from fedward.base import limited_files
from fedward.base.arrays_file import check_arrays, read_arrays
from fedward.base.limited_files import (
    LONGEST_LINE,
    LimitedUnpacking,
    TooLarge,
    limited_lines,
    read_archive,
    read_limited,
    read_plain,
    read_text,
    unpack_gzip,
)
from fedward.base.validate import InvalidValue


def holes(path: Path, size: int) -> Path:
    """A file that says it is so large, and takes no room."""
    path.touch()
    os.truncate(path, size)
    return path


def npz_bomb(path: Path, megabytes: int) -> Path:
    """Zeros, which pack a thousand to one."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("scores.npy", "w", force_zip64=True) as file,
    ):
        header = {"descr": "|u1", "fortran_order": False, "shape": (megabytes << 20,)}
        np.lib.format.write_array_header_1_0(file, header)
        for _ in range(megabytes):
            file.write(bytes(1 << 20))
    return path


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of a thousandth, so that no test needs gigabytes."""
    monkeypatch.setattr(limited_files, "_UNPACKED", 1 << 20)
    monkeypatch.setattr(limited_files, "_SMALL", 1 << 16)


def test_a_file_is_read_up_to_its_limit_and_no_further(tmp_path: Path) -> None:
    file = tmp_path / "some"
    file.write_bytes(b"12345")
    assert read_limited(file, 5) == b"12345"
    with pytest.raises(TooLarge, match=r"some must be of at most 4 bytes, got 5 bytes"):
        read_limited(file, 4)


def test_a_file_with_holes_is_not_read_at_all(tmp_path: Path) -> None:
    file = holes(tmp_path / "run.json", 1 << 40)
    tracemalloc.start()
    with pytest.raises(TooLarge, match="at most 128 MB, got 1,048,576 MB"):
        read_text(file)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_what_says_no_size_ends_at_the_limit() -> None:
    with pytest.raises(TooLarge):
        read_limited(Path("/dev/zero"), 100)


def test_texts_have_the_line_ends_of_python(tmp_path: Path) -> None:
    file = tmp_path / "some.json"
    file.write_bytes("{\r\n}ε".encode())
    assert read_text(file) == file.read_text(encoding="utf8") == "{\n}ε"


def test_a_pipe_that_somebody_else_named_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(InvalidValue, match="plain file"):
            read_plain(place)
    (tmp_path / "some").write_bytes(b"x")
    assert read_plain(tmp_path / "some") == b"x"


def test_gzip_is_unpacked_up_to_its_limit() -> None:
    packed = gzip.compress(bytes(1000))
    assert unpack_gzip(packed, "file", 1000) == bytes(1000)
    with pytest.raises(TooLarge, match="must unpack to at most 999 bytes"):
        unpack_gzip(packed, "file", 999)
    with pytest.raises(gzip.BadGzipFile):
        unpack_gzip(b"x" * 100, "file")


@pytest.mark.usefixtures("little_memory")
def test_a_stream_that_unpacks_to_far_more_than_its_size_ends_with_an_error(tmp_path: Path) -> None:
    file = tmp_path / "data.gz"
    file.write_bytes(gzip.compress(bytes(1 << 16)))
    with io.BufferedReader(LimitedUnpacking(file)) as small:
        assert small.read() == bytes(1 << 16)
    file.write_bytes(gzip.compress(bytes(4 << 20)))
    with (
        pytest.raises(TooLarge, match=r"data\.gz must unpack to at most"),
        io.BufferedReader(LimitedUnpacking(file)) as large,
    ):
        large.read()


def test_a_line_without_an_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = holes(tmp_path / "rounds.jsonl", 1 << 40)
    with file.open("rb") as opened, pytest.raises(TooLarge, match="lines of at most 32 MB"):
        list(limited_lines(opened, file))
    assert LONGEST_LINE == 32 << 20
    lines = io.BytesIO(b"a\nb\nc")
    assert list(limited_lines(lines, "lines")) == [b"a\n", b"b\n", b"c"]


@pytest.mark.usefixtures("little_memory")
def test_an_archive_that_unpacks_to_far_more_than_its_size_is_not_unpacked(tmp_path: Path) -> None:
    bomb = npz_bomb(tmp_path / "scores.npz", 8)
    assert bomb.stat().st_size < 1 << 14
    for read in (read_arrays, check_arrays):
        with pytest.raises(TooLarge, match=r"must unpack to at most 1 MB, 100 times its size, got 8 MB"):
            read(bomb)


@pytest.mark.usefixtures("little_memory")
def test_an_archive_of_any_size_that_is_not_packed_is_read(tmp_path: Path) -> None:
    wide = np.arange(1 << 20)
    np.savez(tmp_path / "scores.npz", scores=wide)
    assert np.array_equal(read_arrays(tmp_path / "scores.npz")["scores"], wide)
    torch.save({"weight": torch.zeros(1 << 19)}, tmp_path / "model.pt")
    content = read_archive(tmp_path / "model.pt")
    assert len(torch.load(io.BytesIO(content), weights_only=True)["weight"]) == 1 << 19


@pytest.mark.usefixtures("little_memory")
def test_a_large_file_that_is_no_archive_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TooLarge, match="must be an archive, got 5,120 MB of something else"):
        read_archive(holes(tmp_path / "model.pt", 5 << 30))
    monkeypatch.setattr(limited_files, "_memory", lambda: 1 << 30)
    with pytest.raises(TooLarge, match="must be of at most 1,024 MB, got 5,120 MB"):
        read_archive(tmp_path / "model.pt")
    (tmp_path / "small.pt").write_bytes(b"no archive")
    assert read_archive(tmp_path / "small.pt") == b"no archive"


@pytest.mark.usefixtures("little_memory")
def test_tensors_are_never_packed_a_hundred_to_one(tmp_path: Path) -> None:
    bomb = npz_bomb(tmp_path / "model.pt", 2)
    with pytest.raises(TooLarge, match="2 times its size"):
        read_archive(bomb)


def test_an_archive_of_a_million_members_is_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "many.npz"
    np.savez(file, a=np.arange(3), b=np.arange(3))
    monkeypatch.setattr(limited_files, "_LONGEST_DIRECTORY", 60)
    with pytest.raises(TooLarge, match="list of members"):
        read_arrays(file)
