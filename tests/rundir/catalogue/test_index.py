from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path

import pytest

from fedward.base.validate import InvalidValue
from fedward.rundir.catalogue.conditions import condition
from fedward.rundir.catalogue.facts import RunFacts, read
from fedward.rundir.catalogue.index import NAME, all_runs, find_runs
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


@pytest.mark.parametrize(
    "content", [b"nothing packed", b"", b"\x1f\x8b\x08" + b"\xff" * 500, gzip.compress(b"no JSON", mtime=0)]
)
def test_a_damaged_index_is_made_again(runs: Path, content: bytes) -> None:
    (runs / NAME).write_bytes(content)
    assert len(found(runs)) == 3


def test_an_index_that_is_damaged_anywhere_is_made_again(runs: Path) -> None:
    for number in range(40):
        make_run(runs / f"more-{number}")
    wanted = sorted(found(runs))
    good = (runs / NAME).read_bytes()
    assert len(good) > 2000
    for place in range(0, len(good), len(good) // 20):
        bad = bytearray(good)
        bad[place] ^= 0xFF
        for damaged in (bytes(bad), good[:place]):
            (runs / NAME).write_bytes(damaged)
            assert sorted(found(runs)) == wanted
            assert sorted(found(runs)) == wanted


@pytest.mark.parametrize("reason", [errno.ENOSPC, errno.EIO])
def test_runs_are_listed_all_the_same_where_their_index_cannot_be_written(
    runs: Path, reason: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(runs)
    make_run(runs / "d")
    (runs / "c" / "rounds.jsonl").write_text('{"round": 0, "accuracy": 0.99, "loss": 0.1}\n')
    refused: list[int] = []

    def refuse(descriptor: int, content: bytes) -> None:
        refused.append(reason)
        raise OSError(reason, os.strerror(reason))

    monkeypatch.setattr("fedward.base.durable_files.write_whole", refuse)
    before = (runs / NAME).read_bytes()
    assert found(runs, sort="accuracy", descending=True) == ["c", "a", "b", "d"]
    assert refused == [reason]
    assert (runs / NAME).read_bytes() == before  # it is not damaged, and not thrown away


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


def test_a_directory_in_the_indexs_place_does_no_harm(runs: Path) -> None:
    (runs / NAME).mkdir()
    assert len(found(runs)) == 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_is_listed_all_the_same(runs: Path) -> None:
    runs.chmod(0o500)
    try:
        assert len(found(runs)) == 3
    finally:
        runs.chmod(0o700)


def test_no_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="no directory"):
        found(tmp_path / "nowhere")
