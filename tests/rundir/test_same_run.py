from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content
from fedward.config.vary import Axis
from fedward.rundir.manifest import Manifest
from fedward.rundir.same_run import check_same_run
from fedward.rundir.store import open_run
from fedward.studies.training.setup import prepare
from studies.replicas_wanted import CONTENT, go, wanted
from training_steps import run

SHORT = {**CONTENT, "rounds": 1}


def run_once(path: Path) -> None:
    with open_run(path) as directory:
        list(run(prepare(from_content(SHORT)), directory))


def refusal(work: Any, *arguments: Any) -> str:
    with pytest.raises(InvalidValue, match="holds another run") as error:
        work(*arguments)
    assert "{" not in str(error.value)
    assert str(error.value).endswith("; choose another directory with --out")
    return str(error.value)


def test_other_variants_are_named(tmp_path: Path) -> None:
    go(wanted(1, SHORT), tmp_path)
    other = wanted(1, SHORT, [Axis(key="algorithm.noise_multiplier", values=(1.0, 4.0))])
    assert (
        "the variants noise_multiplier=1.0; noise_multiplier=3.0 there, "
        "noise_multiplier=1.0; noise_multiplier=4.0 here" in refusal(go, other, tmp_path)
    )
    assert "; noise_multiplier=3.0 there, all here" in refusal(go, wanted(1, SHORT, axes=[]), tmp_path)


def test_one_run_and_many_replicas_are_told_apart(tmp_path: Path) -> None:
    run_once(tmp_path / "one")
    go(wanted(1, SHORT, axes=[]), tmp_path / "many")
    one, many = "a single run (fedward run)", "many replicas (fedward replicas)"
    assert f"{one} there, {many} here" in refusal(go, wanted(1, SHORT, axes=[]), tmp_path / "one")
    assert f"{many} there, {one} here" in refusal(run_once, tmp_path / "many")


def test_tables_and_long_values_are_not_printed_whole(tmp_path: Path) -> None:
    stored: dict[str, Any] = {
        "experiment": {"attack": {"who": 1}, "names": ["a"] * 99, "rounds": 3},
        "data": {},
    }
    made: dict[str, Any] = {"experiment": {"attack": None, "names": ["b"] * 99, "rounds": 4}, "data": {}}
    found = refusal(check_same_run, tmp_path, Manifest(**stored), Manifest(**made))
    assert "experiment.attack (a table there, None here)" in found
    assert "experiment.rounds (3 there, 4 here)" in found
    assert "... there" in found


def test_a_table_that_an_older_fedward_did_not_know_is_no_difference(tmp_path: Path) -> None:
    made: dict[str, Any] = {"experiment": {"rounds": 3, "attack": None}, "data": {"digest": "x"}}
    stored: dict[str, Any] = {"experiment": {"rounds": 3}, "data": {"digest": "x"}}
    check_same_run(tmp_path, Manifest(**stored), Manifest(**made))


def test_other_source_of_a_part_is_refused_and_named(tmp_path: Path) -> None:
    stored, made = (Manifest(experiment={}, code={"own:Part": digest}) for digest in ("aa", "bb"))
    check_same_run(tmp_path, stored, stored)
    with pytest.raises(InvalidValue, match="was begun with other code: the source of own:Part has changed"):
        check_same_run(tmp_path, stored, made)
