from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.datasets.directory import MissingFile
from fedward.datasets.download import attempt, fetch, fetch_archive, unpack
from fedward.datasets.first_seen import NAME

Serve = Callable[[dict[str, bytes]], list[str]]

CONTENT = {"set/a.bin": b"first" * 50, "set/b.bin": b"second" * 50, "set/evil.py": b"print()"}
MEMBERS = {"set/a.bin": "a.bin", "set/b.bin": "b.bin"}


def tar_of(content: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        for name, data in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            file.addfile(info)
    return buffer.getvalue()


def zip_of(content: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in content.items():
            file.writestr(name, data)
    return buffer.getvalue()


def md5(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()


PACKED = {"set.tar.gz": tar_of(CONTENT), "set.zip": zip_of(CONTENT)}


@pytest.mark.parametrize("name", PACKED)
def test_only_the_known_members_are_unpacked_and_the_archive_is_removed(
    tmp_path: Path, serve: Serve, name: str
) -> None:
    asked = serve(PACKED)
    fetch_archive(f"https://some.where/{name}", md5(PACKED[name]), tmp_path, MEMBERS)
    assert asked == [f"https://some.where/{name}"]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.name != NAME} == {
        "a.bin": CONTENT["set/a.bin"],
        "b.bin": CONTENT["set/b.bin"],
    }


@pytest.mark.parametrize("name", PACKED)
def test_an_archive_that_is_there_is_used_and_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(PACKED[name])
    fetch_archive(f"https://some.where/{name}", md5(PACKED[name]), tmp_path, {"set/b.bin": "b.bin"})
    assert {path.name for path in tmp_path.iterdir()} == {name, "b.bin", NAME}


def test_a_download_with_a_wrong_checksum_leaves_nothing(tmp_path: Path, serve: Serve) -> None:
    serve(PACKED)
    with pytest.raises(ValueError, match="hash"):
        fetch_archive("https://some.where/set.zip", md5(b"other"), tmp_path, MEMBERS)
    with pytest.raises(ValueError, match="hash"):
        fetch("https://some.where/set.zip", md5(b"other"), tmp_path, "set.zip")
    assert list(tmp_path.iterdir()) == []


def test_names_in_an_archive_never_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    archive = tmp_path / "evil.tar.gz"
    archive.write_bytes(tar_of({"../escaped": b"x", "/absolute": b"x", "set/a.bin": b"good"}))
    unpack(archive, tmp_path / "data", {"set/a.bin": "a.bin"})
    unpack(archive, tmp_path / "data", {"../escaped": "b.bin"})
    assert {path.name for path in (tmp_path / "data").iterdir()} == {"a.bin", "b.bin"}
    assert {path.name for path in tmp_path.iterdir()} == {"data", "evil.tar.gz"}


def test_a_link_in_an_archive_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "evil.tar.gz"
    archive.write_bytes(tar_of({}, links={"set/a.bin": "/etc/passwd"}))
    with pytest.raises(InvalidValue, match=r"evil\.tar\.gz must be a whole archive with set/a\.bin: .*plain"):
        unpack(archive, tmp_path, {"set/a.bin": "a.bin"})
    assert {path.name for path in tmp_path.iterdir()} == {"evil.tar.gz"}


@pytest.mark.parametrize("name", PACKED)
def test_a_missing_member_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(PACKED[name])
    with pytest.raises(InvalidValue, match=r"whole archive with set/c\.bin"):
        unpack(tmp_path / name, tmp_path, {"set/c.bin": "c.bin"})
    assert {path.name for path in tmp_path.iterdir()} == {name}


@given(name=st.sampled_from(sorted(PACKED)), data=st.data())
def test_an_archive_cut_off_anywhere_leaves_no_part_of_a_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    length = data.draw(st.integers(0, len(PACKED[name]) - 1))
    (folder / name).write_bytes(PACKED[name][:length])
    with contextlib.suppress(InvalidValue):  # what lies behind the last member needed may be missing
        unpack(folder / name, folder, MEMBERS)
        assert length > len(PACKED[name]) / 3
    for inside, outside in MEMBERS.items():
        if (folder / outside).exists():
            assert (folder / outside).read_bytes() == CONTENT[inside]
    assert {path.name for path in folder.iterdir()} <= {name, "a.bin", "b.bin"}


@pytest.mark.parametrize("error", [OSError("no route to host"), InvalidValue("hash")])
def test_a_failure_says_which_file_to_put_where(tmp_path: Path, error: Exception) -> None:
    with (
        pytest.raises(MissingFile) as caught,
        attempt(tmp_path, "Toy", "a.bin, b.bin", "https://some.where/"),
    ):
        raise error
    assert str(caught.value) == (
        f"{tmp_path} must hold the Toy files; put a.bin, b.bin there, from https://some.where/. "
        f"Downloading them failed: {error}"
    )


def test_a_file_of_somebody_elses_with_an_official_name_is_left_alone(tmp_path: Path, serve: Serve) -> None:
    asked = serve(PACKED)
    (tmp_path / "set.zip").write_bytes(b"of mine")
    for get in (
        lambda: fetch("https://some.where/set.zip", md5(PACKED["set.zip"]), tmp_path, "set.zip"),
        lambda: fetch_archive("https://some.where/set.zip", md5(PACKED["set.zip"]), tmp_path, MEMBERS),
    ):
        with pytest.raises(InvalidValue, match=r"set\.zip must have the checksum .* got another file"):
            get()
    assert asked == []
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"set.zip": b"of mine"}


def test_unpacking_writes_over_no_other_file(tmp_path: Path) -> None:
    theirs = tmp_path / f".a.bin-{os.getpid()}"
    theirs.write_text("of mine")
    (tmp_path / "set.zip").write_bytes(PACKED["set.zip"])
    unpack(tmp_path / "set.zip", tmp_path, {"set/a.bin": "a.bin"})
    assert theirs.read_text() == "of mine"
    assert (tmp_path / "a.bin").read_bytes() == CONTENT["set/a.bin"]
