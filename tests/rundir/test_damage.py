"""Files beside their digests: what is wrong with them, in words, also while somebody writes."""

from __future__ import annotations

import gzip
import threading
from pathlib import Path

import pytest

from fedward.base.validate import InvalidValue
from fedward.rundir import run_files
from fedward.rundir.damage import find_damage, require_undamaged
from fedward.rundir.digest_log import NAME
from fedward.rundir.run_file_names import KINDS, kind_of_file
from fedward.rundir.run_files import Append, RunFiles, Write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = RunFiles(tmp_path)
    for name in ("run.json", "result.json", "checkpoint.pt", "scores-000000-000002.npz"):
        files.write(name, name.encode())
    files.close()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("result.json", "is damaged (not as it was written): no number of the result can be believed"),
        ("run.json", "it is not known what was run, with which seed and on which data"),
    ],
)
def test_a_damaged_file_is_named_with_what_that_means(folder: Path, name: str, said: str) -> None:
    (folder / name).write_bytes(name.encode()[::-1])
    with pytest.raises(InvalidValue) as error:
        require_undamaged(folder, has_digests=True)
    assert str(folder / name) in str(error.value)
    assert said in str(error.value)


def test_what_is_not_shown_is_compared_by_size_only_and_does_not_keep_a_run_from_being_shown(
    folder: Path,
) -> None:
    (folder / "checkpoint.pt").write_bytes(b"CHECKPOINT.pt")
    (folder / "scores-000000-000002.npz").write_bytes(b"SCORES-000000-000002.npz")
    assert require_undamaged(folder, has_digests=True).checked == 2
    assert len(find_damage(folder, has_digests=True)[1]) == 2
    (folder / "scores-000000-000002.npz").write_bytes(b"shorter")
    with pytest.raises(InvalidValue, match=r"scores-000000-000002\.npz is damaged"):
        require_undamaged(folder, has_digests=True)


def test_a_packed_file_stands_for_the_one_that_was_written(folder: Path) -> None:
    files = RunFiles(folder)
    files.write("certificate.json", b"certified")
    files.close()
    (folder / "certificate.json").unlink()
    (folder / "certificate.json.gz").write_bytes(gzip.compress(b"certified"))
    assert find_damage(folder, has_digests=True)[1] == []
    (folder / "certificate.json.gz").write_bytes(gzip.compress(b"forged"))
    assert [each.kind for each in find_damage(folder, has_digests=True)[1]] == ["missing"]


def test_without_digests_nothing_can_be_noticed_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(b"anything")
    digests, found = find_damage(tmp_path, has_digests=False)
    assert (digests.there, found) == (False, [])
    assert "damage of its files cannot be noticed" in str(digests)
    with pytest.raises(InvalidValue, match=rf"{NAME} is missing"):
        find_damage(tmp_path, has_digests=True)


def test_a_run_that_is_being_written_is_never_taken_for_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_files, "_LONGEST", 8)  # the log is written anew all the time
    files, ended = RunFiles(tmp_path), threading.Event()
    files.write("run.json", b"what")

    def write() -> None:
        t = 0
        while not ended.is_set() and t < 2000:
            t += 1
            files.change(
                Append(name="rounds.jsonl", record={"round": t}),
                Write(name="ledger.json", content=b"%d" % t),
            )
            files.write("result.json", b"%d" % t)
            files.remove("result.json")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(60):
            assert find_damage(tmp_path, has_digests=True)[1] == []
    finally:
        ended.set()
        writer.join()


def test_every_kind_of_file_says_what_its_damage_means() -> None:
    for name, kind in KINDS.items():
        assert kind.holds
        assert kind.lost
        assert kind_of_file(name.replace("*", "x")) is not None
    assert kind_of_file("notes.txt") is None
