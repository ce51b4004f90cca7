from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fedward.config.experiment import from_content
from fedward.rundir.computed_by import WENT_ON, changes, versions, went_on, with_change
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.training.runner import run
from fedward.studies.training.setup import prepare
from studies.replicas_wanted import CONTENT, go, wanted

SHORT = {**CONTENT, "rounds": 3}
ELSEWHERE = {"engine": "native engine, avx1024", "versions": {**versions(), "torch": "1.0.0"}}


def run_for(path: Path, rounds: int | None) -> None:
    with open_run(path) as directory:
        for number, _ in enumerate(run(prepare(from_content(SHORT)), directory), 1):
            if number == rounds:
                break


def manifest(path: Path) -> dict[str, Any]:
    return RunDirectory(path).manifest()


def moved(path: Path) -> None:
    """As if it had been computed elsewhere so far."""
    (path / "run.json").write_text(json.dumps(manifest(path) | ELSEWHERE))


def test_a_run_that_goes_on_where_it_was_begun_says_nothing(tmp_path: Path) -> None:
    run_for(tmp_path, 1)
    before = (tmp_path / "run.json").read_bytes()
    run_for(tmp_path, None)
    assert (tmp_path / "run.json").read_bytes() == before
    assert went_on(manifest(tmp_path)) == []


def test_a_run_that_goes_on_elsewhere_keeps_that(tmp_path: Path) -> None:
    run_for(tmp_path, 1)
    here = manifest(tmp_path)
    moved(tmp_path)
    run_for(tmp_path, 2)
    run_for(tmp_path, None)  # the second time nothing is new
    (change,) = went_on(manifest(tmp_path))
    assert change == f"native engine, avx1024, now {here['engine']}; torch 1.0.0, now {versions()['torch']}"
    found = manifest(tmp_path)
    assert found.pop(WENT_ON) == [{"engine": here["engine"], "versions": versions()}]
    assert found == here | ELSEWHERE  # how it was begun stays


def test_back_and_forth_is_two_changes() -> None:
    begun = {"engine": "a", "versions": {"torch": "1"}}
    there = with_change(begun, "b", {"torch": "1"})
    back = with_change(there, "a", {"torch": "2"})
    assert changes(there, "b", {"torch": "1"}) == []
    assert changes(back, "b", {"torch": "2"}) == ["a, now b"]
    assert went_on(back) == ["a, now b", "b, now a; torch 1, now 2"]


def test_a_finished_run_is_left_as_it_is(tmp_path: Path) -> None:
    run_for(tmp_path, None)
    moved(tmp_path)
    run_for(tmp_path, None)
    assert WENT_ON not in manifest(tmp_path)


def test_replicas_that_are_added_elsewhere_are_kept_apart(tmp_path: Path) -> None:
    go(wanted(1, SHORT), tmp_path)
    moved(tmp_path)
    go(wanted(2, SHORT), tmp_path)
    assert len(went_on(manifest(tmp_path))) == 1


@pytest.mark.parametrize("damaged", [None, "text", 3, [1, "x"], [{}], [{"versions": 3}]])
def test_runs_of_earlier_versions_and_damaged_ones_have_no_changes(damaged: Any) -> None:
    stored = {WENT_ON: damaged}
    assert changes(stored, "a", {"torch": "1"}) == []
    assert not any(went_on(stored))
