from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.datasets import idx

LABELS = bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1])


def save(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", ["images", "images.gz"])
@pytest.mark.parametrize("shape", [(5,), (4, 3, 2), (0, 28, 28)])
def test_what_was_written_is_read_packed_or_not(
    tmp_path: Path, write_idx: Callable[..., Path], name: str, shape: tuple[int, ...]
) -> None:
    array = np.random.default_rng(0).integers(0, 256, shape)
    read = idx.read(write_idx(tmp_path / name, array), len(shape))
    assert read.dtype == np.uint8
    assert read.shape == shape
    assert np.array_equal(read, array)


def test_data_longer_than_one_chunk_is_read_whole(tmp_path: Path, write_idx: Callable[..., Path]) -> None:
    array = np.random.default_rng(0).integers(0, 4, 1_500_001)
    assert np.array_equal(idx.read(write_idx(tmp_path / "long.gz", array), 1), array)


def test_one_byte_too_many_is_found_behind_a_whole_chunk(
    tmp_path: Path, write_idx: Callable[..., Path]
) -> None:
    path = write_idx(tmp_path / "labels", np.zeros(1 << 20))
    assert len(idx.read(path, 1)) == 1 << 20
    with pytest.raises(InvalidValue, match="got more"):
        idx.read(save(path, path.read_bytes() + b"\0"), 1)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_cut_off_anywhere_is_refused_by_name(tmp_path: Path, packed: bool) -> None:
    name = "labels.gz" if packed else "labels"
    whole = gzip.compress(LABELS, mtime=0) if packed else LABELS
    assert idx.read(save(tmp_path / name, whole), 1).tolist() == [7, 2, 1]
    for length in range(len(whole)):
        with pytest.raises(InvalidValue, match=name):
            idx.read(save(tmp_path / name, whole[:length]), 1)


def test_errors_say_what_was_expected_and_what_was_found(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidValue, match=r"labels must hold 3 bytes of data for its dimensions \(3,\), got 2"
    ):
        idx.read(save(tmp_path / "labels", LABELS[:-1]), 1)
    with pytest.raises(InvalidValue, match=r"labels must hold 3 bytes .* got more"):
        idx.read(save(tmp_path / "labels", LABELS + b"\0"), 1)
    with pytest.raises(InvalidValue, match=r"labels\.gz must hold 3 bytes .* got more"):
        idx.read(save(tmp_path / "labels.gz", gzip.compress(LABELS + b"\0")), 1)
    with pytest.raises(InvalidValue, match="labels must have 4 bytes of dimensions, got 1"):
        idx.read(save(tmp_path / "labels", LABELS[:5]), 1)
    with pytest.raises(InvalidValue, match=r"labels must begin with 00 00 08 01 .* got an empty file"):
        idx.read(save(tmp_path / "labels", b""), 1)


@pytest.mark.parametrize(
    ("magic", "found"),
    [
        (b"\x01\x00\x08\x01", "01 00 08 01"),
        (b"\x00\x00\x0d\x01", "00 00 0d 01"),  # floats
        (b"\x00\x00\x08\x03", "00 00 08 03"),  # images where labels should be
        (b"<htm", "3c 68 74 6d"),  # an error page saved under the file's name
    ],
)
def test_a_wrong_magic_number_is_refused(tmp_path: Path, magic: bytes, found: str) -> None:
    with pytest.raises(InvalidValue, match=f"must begin with 00 00 08 01 .* got {found}"):
        idx.read(save(tmp_path / "labels", magic + LABELS[4:]), 1)


def test_a_corrupt_gzip_file_is_refused(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8).tobytes()
    packed = bytearray(gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0x13, 0x88]) + noise, mtime=0))
    assert len(idx.read(save(tmp_path / "x.gz", bytes(packed)), 1)) == 5000
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(InvalidValue, match=r"x\.gz must be a whole gzip file"):
        idx.read(save(tmp_path / "x.gz", bytes(packed)), 1)
    wrong_sum = bytearray(gzip.compress(LABELS, mtime=0))
    wrong_sum[-8] ^= 1
    with pytest.raises(InvalidValue, match=r"x\.gz must be a whole gzip file.*CRC"):
        idx.read(save(tmp_path / "x.gz", bytes(wrong_sum)), 1)
    with pytest.raises(InvalidValue, match=r"x\.gz must be a whole gzip file"):
        idx.read(save(tmp_path / "x.gz", LABELS), 1)


@pytest.mark.parametrize("name", ["huge", "huge.gz"])
def test_absurd_dimensions_reserve_no_memory(tmp_path: Path, name: str) -> None:
    data = bytes([0, 0, 8, 3]) + b"\xff" * 12 + bytes(10)
    path = save(tmp_path / name, gzip.compress(data) if name.endswith("gz") else data)
    with pytest.raises(InvalidValue, match=r"must hold 79228162458924105385300197375 bytes .* got 10"):
        idx.read(path, 3)


def test_a_packed_file_that_unpacks_to_far_too_much_is_not_unpacked_whole(tmp_path: Path) -> None:
    bomb = gzip.compress(LABELS + bytes(30_000_000), 1)
    path = save(tmp_path / "labels.gz", bomb[: len(bomb) // 2])  # its second half is never looked for
    with pytest.raises(InvalidValue, match="got more"):
        idx.read(path, 1)


@pytest.mark.parametrize("name", ["absent", "absent.gz"])
def test_a_missing_file_is_an_error_of_its_own(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError, match=f"{name} must be an IDX file, but there is no such file"):
        idx.read(tmp_path / name, 1)
