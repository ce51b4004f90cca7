from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fedward
from fedward.base.validate import InvalidValue
from fedward.rundir.place import kind_of
from fedward.rundir.run_record import load
from tiny_experiment import TEXT


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audited")
    (folder / "first.toml").write_text(TEXT)
    fedward.audit(folder / "first.toml", runs=100, out=folder / "run", quiet=True)
    return folder / "run"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"verdict": "violation"}, "verdict"),
        ({"lower_bound": 0.123}, "not the largest of its bounds"),
        ({"bounds": []}, "it has no bound"),
        ({"verdict": "fine"}, "'verdict' is 'fine'"),
        ({"sentence": None}, "sentence"),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(
    run: Path, changes: dict[str, Any], problem: str
) -> None:
    file = run / "result.json"
    before = file.read_bytes()
    try:
        file.write_text(json.dumps(json.loads(before) | changes))
        with pytest.raises(InvalidValue, match=problem):
            load(run)
    finally:
        file.write_bytes(before)


def test_a_promise_that_does_not_follow_from_the_ledger_is_refused(run: Path) -> None:
    file = run / "result.json"
    before = file.read_bytes()
    content = json.loads(before)
    content["guarantee"]["epsilon"] = 0.001
    try:
        file.write_text(json.dumps(content))
        with pytest.raises(InvalidValue, match=r"ledger\.json comes to"):
            load(run)
    finally:
        file.write_bytes(before)


def test_the_directory_is_known_for_what_it_is(run: Path) -> None:
    assert kind_of(run) == "an audit"
