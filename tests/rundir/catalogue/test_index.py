from __future__ import annotations

import errno
import gzip
import os
import shutil
import stat
from pathlib import Path

import pytest

from fedward.base.validate import InvalidValue
from fedward.rundir.catalogue.conditions import condition
from fedward.rundir.catalogue.facts import RunFacts, read
from fedward.rundir.catalogue.index import all_runs, find_runs
from rundir.catalogue.run_directories import make_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    make_run(tmp_path / "a", accuracy=0.9, preset="fedavg")
    make_run(tmp_path / "deeper" / "b", accuracy=0.7, preset="median", epsilon=3.0)
    make_run(tmp_path / "c", finished=False)
    return tmp_path


def found(root: Path, *conditions: str, sort: str | None = None, descending: bool = False) -> list[str]:
    asked = [condition(text) for text in conditions]
    runs = find_runs(all_runs(root), asked, sort=sort, descending=descending)
    return [run.path.name for run in runs]


def test_all_runs_below_are_found(runs: Path) -> None:
    assert sorted(found(runs)) == ["a", "b", "c"]


def test_conditions_choose(runs: Path) -> None:
    assert found(runs, "accuracy>0.65") == ["a", "b"]
    assert found(runs, "accuracy>0.65", "algorithm.preset=median") == ["b"]
    assert found(runs, "state=unfinished") == ["c"]
    assert found(runs, "algorithm.preset!=fedavg") == ["b"]
    assert found(runs, "epsilon<100") == ["b"]  # without an ε there is nothing to compare


def test_runs_are_sorted_and_those_without_the_key_come_last(runs: Path) -> None:
    assert found(runs, sort="accuracy") == ["c", "b", "a"]
    assert found(runs, sort="accuracy", descending=True) == ["a", "b", "c"]
    assert found(runs, sort="epsilon")[0] == "b"


def test_runs_are_sorted_by_what_they_are_too(runs: Path) -> None:
    make_run(runs / "d", finished=False)
    assert found(runs, sort="state") == ["a", "b", "c", "d"]
    assert found(runs, sort="state", descending=True) == ["c", "d", "a", "b"]
    (runs / "b").mkdir()
    (runs / "b" / "run.json").write_text("")
    assert found(runs, sort="kind")[0] == "b"  # it is damaged, and nobody knows what it is
    assert found(runs, sort="kind", descending=True)[-1] == "b"


def test_a_key_that_no_run_has_is_an_error_with_the_nearest(runs: Path) -> None:
    with pytest.raises(InvalidValue, match="did you mean 'accuracy'"):
        found(runs, "acuracy>1")


def test_what_comes_out_is_what_the_directories_say(runs: Path) -> None:
    stored = {run.path: run for run in all_runs(runs)}
    assert stored == {path: read(path) for path in (runs / "a", runs / "c", runs / "deeper" / "b")}


def test_a_run_that_goes_on_a_new_one_and_one_that_is_gone_are_noticed(runs: Path) -> None:
    found(runs)
    make_run(runs / "d")
    for file in (runs / "a").iterdir():
        file.unlink()
    (runs / "c" / "rounds.jsonl").write_text('{"round": 0, "accuracy": 0.99, "loss": 0.1}\n')
    assert found(runs, sort="accuracy", descending=True) == ["c", "b", "d"]


def test_runs_that_did_not_change_are_not_read_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found(runs)

    def refuse(path: Path) -> RunFacts:
        raise AssertionError(path)

    monkeypatch.setattr("fedward.rundir.catalogue.index.read", refuse)
    assert len(found(runs)) == 3


def test_a_listing_of_known_runs_reads_nothing_that_grows_with_their_rounds(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(runs)
    before = sum(file.stat().st_size for file in folder().iterdir())
    with (runs / "a" / "rounds.jsonl").open("a") as file:
        file.writelines(f'{{"round": {t}, "accuracy": 0.{t}, "loss": 0.1}}\n' for t in range(2, 3000))
    found(runs)
    # What is kept of a run is no larger for its rounds, which nobody reads for another listing.
    assert sum(file.stat().st_size for file in folder().iterdir()) < before + 1000
    monkeypatch.setattr("fedward.base.json_lines.read", lambda path: pytest.fail(f"{path} was read"))
    assert len(found(runs)) == 3


def test_an_index_of_another_version_is_made_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("fedward.rundir.catalogue.index._VERSION", 99)
        patch.setattr("fedward.rundir.catalogue.index.read", _read_otherwise)
        assert found(runs, "something=else") == ["a", "c", "b"]
    assert found(runs, "accuracy>0.65") == ["a", "b"]
    with pytest.raises(InvalidValue, match="no run here has the key 'something'"):
        found(runs, "something=else")


def _read_otherwise(path: Path) -> RunFacts:
    return RunFacts(path=path, kind="run", state="finished", facts={"something": "else"})


def only_cached() -> Path:
    """The one file of this user's cache that is not its key."""
    (file,) = (each for each in folder().iterdir() if each.name != "key")
    return file


def folder() -> Path:
    return Path(os.environ["XDG_CACHE_HOME"]) / "fedward" / "seen"


def read_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many runs are read, and not believed, for a listing that must be right in any case."""
    asked: list[Path] = []

    def count(path: Path) -> RunFacts:
        asked.append(path)
        return read(path)

    with monkeypatch.context() as patch:
        patch.setattr("fedward.rundir.catalogue.index.read", count)
        assert found(runs, "accuracy>0.65", "kind=run") == ["a", "b"]
    return len(asked)


def test_nothing_is_written_among_the_runs(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sorted(runs.rglob("*"))
    assert read_again(runs, monkeypatch) == 3
    assert read_again(runs, monkeypatch) == 0
    assert sorted(runs.rglob("*")) == before
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder().iterdir()} == {0o600}


def test_an_index_that_was_edited_is_made_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its accuracy is another, and all that whoever edits it can know is put right."""
    found(runs)
    stored = only_cached().read_bytes()
    content = gzip.decompress(stored[32:]).replace(b"0.9", b"0.1")
    only_cached().write_bytes(stored[:32] + gzip.compress(content))
    assert read_again(runs, monkeypatch) == 3
    assert read_again(runs, monkeypatch) == 0


def test_an_index_of_another_directory_is_made_again(
    runs: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(runs)
    stored = only_cached()
    copy = tmp_path_factory.mktemp("other") / "copy"
    shutil.copytree(runs, copy)
    found(copy)
    (other,) = (each for each in folder().iterdir() if each.name not in ("key", stored.name))
    stored.write_bytes(other.read_bytes())
    assert read_again(runs, monkeypatch) == 3
    # Another directory in the same place is another directory.
    runs.rename(runs.with_name("moved"))
    shutil.copytree(copy, runs)
    assert read_again(runs, monkeypatch) == 3


def test_an_index_that_is_damaged_anywhere_is_made_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found(runs)
    good = only_cached().read_bytes()
    for place in range(0, len(good), len(good) // 10):
        bad = bytearray(good)
        bad[place] ^= 0xFF
        for damage in (bytes(bad), good[:place], good + b"more"):
            only_cached().write_bytes(damage)
            assert read_again(runs, monkeypatch) == 3


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EIO])
def test_runs_are_listed_all_the_same_where_their_index_cannot_be_written(
    runs: Path, reason: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(runs)
    before = only_cached().read_bytes()
    make_run(runs / "d")
    refused: list[int] = []

    def refuse(descriptor: int, content: bytes) -> None:
        refused.append(reason)
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr("fedward.base.durable_files.write_whole", refuse)
    assert sorted(found(runs)) == ["a", "b", "c", "d"]
    assert refused == [reason]
    assert only_cached().read_bytes() == before  # it is not damaged, and not thrown away


def test_one_directory_that_cannot_be_read_hides_no_other(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (runs / "closed").mkdir()
    (runs / "a file").mkdir()
    (runs / "a file" / "run.json").mkdir()
    (runs / "pipe").mkdir()
    os.mkfifo(runs / "pipe" / "run.json")
    (runs / "loop").symlink_to(runs)
    os.mkdir(os.fsencode(runs) + b"/\xff")
    make_run(runs / "b\n\x1b[2J")
    Path(os.fsdecode(os.fsencode(runs) + b"/\xff/run.json")).write_text("{")
    looked_into = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return looked_into(path)

    monkeypatch.setattr(os, "scandir", refuse)
    listed = {run.path.name: run for run in all_runs(runs)}
    damaged = {name: run.note for name, run in listed.items() if run.state == "damaged"}
    assert listed.keys() - damaged.keys() == {"a", "b", "c", "b\n\x1b[2J"}
    assert damaged.keys() == {"closed", "a file", "pipe", "\udcff"}
    assert damaged["closed"] == "Permission denied"
    assert "got 'run.json', which is a named pipe" in damaged["pipe"]


def test_a_path_that_is_longer_than_the_system_allows_hides_no_other(runs: Path) -> None:
    before = Path.cwd()
    os.chdir(runs)
    try:
        for _ in range(20):  # beyond PATH_MAX, as only steps from directory to directory can go
            os.mkdir("x" * 250)
            os.chdir("x" * 250)
    finally:
        os.chdir(before)
    listed = all_runs(runs)
    assert [run.note for run in listed if run.state == "damaged"] == ["File name too long"]
    assert len(listed) == 4


def test_no_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="no directory"):
        found(tmp_path / "nowhere")
