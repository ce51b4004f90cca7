from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from fedward.base.validate import InvalidValue
from fedward.datasets.first_seen import NAME, remember, require_as_remembered


def test_a_file_that_changed_since_its_download_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"first")
    remember([file])
    require_as_remembered([file])
    file.write_bytes(b"other")
    wanted = hashlib.sha256(b"first").hexdigest()
    with pytest.raises(InvalidValue, match=f"a.bin must have the SHA-256 {wanted} that it was downloaded"):
        require_as_remembered([file])


def test_what_is_known_of_a_file_is_not_changed_by_a_second_download(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"first")
    remember([file])
    file.write_bytes(b"other")
    (tmp_path / "b.bin").write_bytes(b"more")
    remember([file, tmp_path / "b.bin"])
    with pytest.raises(InvalidValue, match=r"a\.bin must have"):
        require_as_remembered([tmp_path / "b.bin", file])


def test_a_file_of_ones_own_is_never_compared(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"mine")
    require_as_remembered([file])
    assert [each.name for each in tmp_path.iterdir()] == ["a.bin"]


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[]", json.dumps({"a.bin": 3}).encode()])
def test_a_damaged_record_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.bin").write_bytes(b"first")
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(InvalidValue, match=NAME):
        require_as_remembered([tmp_path / "a.bin"])
