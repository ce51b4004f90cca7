from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content
from fedward.rundir.computed_by import changes, list_changes, versions
from fedward.rundir.manifest import ComputedBy, Manifest
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.training.setup import prepare
from studies.replicas_wanted import CONTENT, go, wanted
from training_steps import run

SHORT = {**CONTENT, "rounds": 3}
ELSEWHERE = {"engine": "native engine, avx1024", "versions": {**versions(), "torch": "1.0.0"}}


def run_for(path: Path, rounds: int | None) -> None:
    with open_run(path) as directory:
        for number, _ in enumerate(run(prepare(from_content(SHORT)), directory), 1):
            if number == rounds:
                break


def manifest(path: Path) -> Manifest:
    return RunDirectory(path).manifest()


def moved(path: Path) -> None:
    """As if it had been computed elsewhere so far."""
    (path / "run.json").write_text(json.dumps(manifest(path).to_json() | ELSEWHERE))


def test_a_run_that_goes_on_where_it_was_begun_says_nothing(tmp_path: Path) -> None:
    run_for(tmp_path, 1)
    before = (tmp_path / "run.json").read_bytes()
    run_for(tmp_path, None)
    assert (tmp_path / "run.json").read_bytes() == before
    assert list_changes(manifest(tmp_path)) == []


@pytest.mark.usefixtures("edited_by_hand")
def test_a_run_that_goes_on_elsewhere_keeps_that(tmp_path: Path) -> None:
    run_for(tmp_path, 1)
    here = manifest(tmp_path).to_json()
    moved(tmp_path)
    run_for(tmp_path, 2)
    run_for(tmp_path, None)  # the second time nothing is new
    (change,) = list_changes(manifest(tmp_path))
    assert change == f"native engine, avx1024, now {here['engine']}; torch 1.0.0, now {versions()['torch']}"
    found = manifest(tmp_path).to_json()
    assert found.pop("went_on") == [{"engine": here["engine"], "versions": versions()}]
    assert found == here | ELSEWHERE  # how it was begun stays


def test_back_and_forth_is_two_changes() -> None:
    begun = Manifest(experiment={}, engine="a", versions={"torch": "1"})
    there = ComputedBy(engine="b", versions={"torch": "1"})
    back = ComputedBy(engine="a", versions={"torch": "2"})
    assert changes(begun.model_copy(update={"went_on": [there]}), there) == []
    both = begun.model_copy(update={"went_on": [there, back]})
    assert changes(both, ComputedBy(engine="b", versions={"torch": "2"})) == ["a, now b"]
    assert list_changes(both) == ["a, now b", "b, now a; torch 1, now 2"]


@pytest.mark.usefixtures("edited_by_hand")
def test_a_finished_run_is_left_as_it_is(tmp_path: Path) -> None:
    run_for(tmp_path, None)
    moved(tmp_path)
    run_for(tmp_path, None)
    assert manifest(tmp_path).went_on == []


@pytest.mark.usefixtures("edited_by_hand")
def test_replicas_that_are_added_elsewhere_are_kept_apart(tmp_path: Path) -> None:
    go(wanted(1, SHORT), tmp_path)
    moved(tmp_path)
    go(wanted(2, SHORT), tmp_path)
    assert len(list_changes(manifest(tmp_path))) == 1


def test_runs_of_earlier_versions_have_no_changes() -> None:
    assert changes(Manifest(experiment={}), ComputedBy(engine="a", versions={"torch": "1"})) == []
    assert list_changes(Manifest(experiment={})) == []


@pytest.mark.parametrize("damaged", [None, "text", 3, [1, "x"], [{}], [{"versions": 3}]])
def test_damaged_changes_are_said_to_be(damaged: Any, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"experiment": {}, "went_on": damaged}))
    with pytest.raises(InvalidValue, match=r"run\.json is damaged, 'went_on' is .*: put back a copy of it"):
        manifest(tmp_path)
