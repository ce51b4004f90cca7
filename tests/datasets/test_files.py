from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.datasets.directory import MissingFile
from fedward.datasets.files import csv_rows, explain_read_errors, is_utf8, read_arrays, text_lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data-files")


def save(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for read in (text_lines, csv_rows):
        with pytest.raises(MissingFile, match=r"nothing\.txt must be a list, but there is no such file"):
            list(read(tmp_path / "nothing.txt", "a list"))
    with pytest.raises(MissingFile, match="no such file"):
        read_arrays(tmp_path / "nothing.npz", "an archive")
    with pytest.raises(MissingFile, match="no such file"):
        is_utf8(tmp_path / "nothing.txt", "a list")


def test_a_directory_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    for read in (text_lines, csv_rows):
        with pytest.raises(
            InvalidValue, match=f"{tmp_path.name} must be a list, but reading it failed: Is a"
        ):
            list(read(tmp_path, "a list"))
    with pytest.raises(InvalidValue, match="reading it failed: Is a directory"):
        read_arrays(tmp_path, "an archive")


def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    # Not by chmod: whoever runs the tests as root may read everything.
    message = "x must be a list, but reading it failed: Permission denied"
    with pytest.raises(InvalidValue, match=message), explain_read_errors(Path("x"), "a list"):
        raise PermissionError(13, "Permission denied")


def test_lines_end_with_a_line_feed_and_nothing_else(tmp_path: Path) -> None:
    text = "a\x85b\u2028c\x0cd\ne\r\n\nf\n"
    path = save(tmp_path / "x.txt", text.encode())
    assert list(text_lines(path, "a list")) == [(1, "a\x85b\u2028c\x0cd"), (2, "e"), (3, ""), (4, "f")]
    packed = save(tmp_path / "x.txt.gz", gzip.compress(text.encode()))
    assert list(text_lines(packed, "a list")) == list(text_lines(path, "a list"))
    assert list(text_lines(save(tmp_path / "empty", b""), "a list")) == []


@given(st.text(st.characters(exclude_characters="\n\r"), min_size=1, max_size=30), st.data())
def test_a_text_cut_off_within_a_line_is_refused(folder: Path, line: str, data: st.DataObject) -> None:
    whole = f"first\n{line}\n".encode()
    length = data.draw(st.integers(7, len(whole) - 1))
    with pytest.raises(InvalidValue, match="last line, 2, is cut off"):
        list(text_lines(save(folder / "cut.txt", whole[:length]), "a list"))


def test_text_in_another_encoding_is_refused_by_its_line(tmp_path: Path) -> None:
    path = save(tmp_path / "x.txt", "ok\nnaïve\n".encode("latin-1"))
    with pytest.raises(InvalidValue, match=r"x\.txt must be UTF-8 text, but line 2 is not"):
        list(text_lines(path, "a list"))
    with pytest.raises(InvalidValue, match=r"x\.txt must be UTF-8 text"):
        list(csv_rows(path, "a table"))
    assert list(csv_rows(path, "a table", "latin-1")) == [(1, ["ok"]), (2, ["naïve"])]


def test_a_packed_text_that_is_damaged_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b"one\ntwo\n" * 100)
    for length in (0, 1, 15, len(packed) - 1):
        if length:
            with pytest.raises(InvalidValue, match=r"x\.gz must be a whole gzip file"):
                list(text_lines(save(tmp_path / "x.gz", packed[:length]), "a list"))


def test_rows_carry_the_number_of_their_line(tmp_path: Path) -> None:
    path = save(tmp_path / "x.csv", '\ufeffa,b\n"1\n2",3\n\n4,"5""6"\n'.encode())
    assert list(csv_rows(path, "a table")) == [(1, ["a", "b"]), (3, ["1\n2", "3"]), (5, ["4", '5"6'])]


@given(
    st.lists(st.text(st.characters(exclude_characters='"\x00'), max_size=8), min_size=1, max_size=4),
    st.data(),
)
def test_a_table_cut_off_within_a_line_is_refused(
    folder: Path, cells: list[str], data: st.DataObject
) -> None:
    text = ",".join(f'"{cell}"' for cell in cells) + "\n"
    path = save(folder / "cut.csv", text.encode())
    assert [row for _, row in csv_rows(path, "a table", "utf8")] == [cells]
    length = data.draw(st.integers(1, len(text.encode()) - 1))
    with pytest.raises(InvalidValue, match=r"cut\.csv must (be a table, but line \d+ is not|end with)"):
        list(csv_rows(save(path, text.encode()[:length]), "a table", "utf8"))


@given(st.binary(max_size=40))
def test_utf8_is_told_from_the_rest(folder: Path, data: bytes) -> None:
    try:
        data.decode("utf8")
        expected = True
    except UnicodeDecodeError:
        expected = False
    assert is_utf8(save(folder / "bytes", data), "text") == expected


def test_a_character_across_two_pieces_is_one(tmp_path: Path) -> None:
    assert is_utf8(save(tmp_path / "x", b"a" * ((1 << 20) - 1) + "é".encode()), "text")
    assert not is_utf8(save(tmp_path / "x", b"a" * ((1 << 20) - 1) + "é".encode()[:1]), "text")


def test_arrays_are_read_from_archives_and_single_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(3), y=np.array(["u"]))
    found = read_arrays(tmp_path / "a.npz", "an archive")
    assert found.keys() == {"x", "y"}
    assert found["x"].tolist() == [0, 1, 2]
    np.save(tmp_path / "a.npy", np.eye(2))
    assert read_arrays(tmp_path / "a.npy", "an array")["array"].tolist() == [[1, 0], [0, 1]]


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, x=np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidValue, match=r"bad\.npz must be an archive, but reading it failed: .*pickle"):
        read_arrays(path, "an archive")
    path.write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    with pytest.raises(InvalidValue, match=r"bad\.npz must be an archive"):
        read_arrays(path, "an archive")


@given(st.data())
def test_an_archive_cut_off_anywhere_is_refused(folder: Path, data: st.DataObject) -> None:
    path = folder / "cut.npz"
    np.savez(path, x=np.arange(50), y=np.arange(3))
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    with pytest.raises(InvalidValue, match=r"cut\.npz must be an archive"):
        read_arrays(path, "an archive")
