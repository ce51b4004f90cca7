from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fedward.base.validate import InvalidValue
from fedward.reports.page import render
from fedward.reports.terminal import run_table as terminal
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import Mean, Measured, MeasuredRound, TrainingResult, read_result
from fedward.rundir.run_record import load
from fedward.rundir.store import RunDirectory
from fedward.studies.training.training_study import Setup
from studies.attacked import PRIVATE, left, setup_for
from studies.killing import run_to_end


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inside = enumerate(content) if isinstance(content, list) else ()
    for key, each in content.items() if isinstance(content, dict) else inside:
        yield (*path, key)
        yield from places(each, (*path, key))


def printed(setup: Setup, path: Path) -> str:
    """What ``fedward run`` prints of a finished run."""
    console, directory = Console(width=200, file=io.StringIO()), RunDirectory(path)
    result = directory.result()
    assert isinstance(result, TrainingResult)
    terminal.result(console, setup, directory.ledger(), result, directory.metrics())
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def changed(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return content


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Setup, Path]:
    setup, path = setup_for(algorithm=PRIVATE, rounds=2), tmp_path_factory.mktemp("finished") / "run"
    run_to_end(setup, path)
    return setup, path


@pytest.mark.parametrize("value", [None, True, -1, "x", [], {}, [1], {"a": 1}])
@pytest.mark.parametrize("name", ["result.json", "rounds.jsonl"])
def test_what_is_damaged_anywhere_is_refused_or_can_be_printed(
    finished: tuple[Setup, Path], name: str, value: object
) -> None:
    setup, path = finished
    good = (path / name).read_text()
    lines = good.splitlines() if name == "rounds.jsonl" else [good]
    refused = []
    try:
        for place in places(json.loads(lines[-1])):
            content = json.dumps(changed(json.loads(lines[-1]), place, value))
            (path / name).write_text("\n".join([*lines[:-1], content]) + "\n")
            try:
                printed(setup, path)
            except InvalidValue as error:
                refused.append(str(error))
    finally:
        (path / name).write_text(good)
    assert len(refused) >= 2
    assert all(str(path / name) in each for each in refused)


def test_what_a_run_writes_is_accepted(finished: tuple[Setup, Path]) -> None:
    setup, path = finished
    result = RunDirectory(path).result()
    assert result is not None
    assert result.to_json() == json.loads((path / "result.json").read_text())
    assert len(RunDirectory(path).metrics()) == 2
    assert "attack success" in printed(setup, path)
    assert render([load(path)])


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ({"replicas": 2}, "it does not say 'variants'"),
        ({"replicas": 2, "variants": {"all": {"accuracy": {"mean": 0.5}}}}, "'variants' is"),
        ({"replicas": True, "variants": {}}, "'replicas' is True"),
    ],
)
def test_results_of_replicas_are_checked_as_such(content: dict[str, Any], what: str) -> None:
    with pytest.raises(
        InvalidValue, match=f"result.json is damaged, {what}.*: remove it, and the same command"
    ):
        read_result(content, Manifest(experiment={"variants": {}}), Path("result.json"))


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"rounds": 2}', "\x00", "[" * 100_000])
def test_a_damaged_result_is_one_line_that_says_what_to_do(tmp_path: Path, content: str) -> None:
    setup = setup_for(rounds=1)
    run_to_end(setup, tmp_path)
    whole = left(tmp_path)
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(
        InvalidValue, match=r"result\.json .*: remove it, and the same command makes it again"
    ):
        run_to_end(setup, tmp_path)
    (tmp_path / "result.json").unlink()
    run_to_end(setup, tmp_path)
    assert left(tmp_path) == whole


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ({"round": 3, "accuracy": 0.5}, "it says 'accuracy' alone"),
        ({"round": 3, "accuracy": None, "loss": None}, "'accuracy' is None"),
        ({"round": 3, "accuracy": "high", "loss": 1.0}, "'accuracy' is 'high'"),
        ({"round": 3, "accuracy": True, "loss": 1.0}, "'accuracy' is True"),
        ({"accuracy": 0.5, "loss": 1.0}, "it does not say 'round'"),
        ({"round": 3, "attacks": {"a": {"success": 1.0}}}, "'attacks' is {'a': {'success': 1.0}}"),
    ],
)
def test_what_is_wrong_with_a_record_is_said_with_its_key_and_value(
    content: dict[str, Any], what: str
) -> None:
    with pytest.raises(InvalidValue) as raised:
        MeasuredRound.read(content, Path("rounds.jsonl"), "put back a copy of it", "in round 3 ")
    assert str(raised.value) == f"rounds.jsonl is damaged, in round 3 {what}: put back a copy of it"


def test_what_is_not_finite_is_null_and_what_was_never_set_is_not_written() -> None:
    measured = Measured(accuracy=0.5, loss=float("nan"))
    assert measured.to_json() == {"accuracy": 0.5, "loss": None}
    assert Measured().to_json() == {}
    again = Measured.model_validate(measured.to_json())
    assert (again.accuracy, again.loss) == (0.5, None)


def test_keys_of_a_later_version_are_kept() -> None:
    content = {"round": 3, "accuracy": 0.5, "loss": 1.0, "calibration": 0.1}
    assert MeasuredRound.model_validate(content).to_json() == content


def test_an_interval_is_students_and_stays_where_values_can_be() -> None:
    found = Mean.of([0.5, 0.6, 0.7])
    assert found.low == pytest.approx(0.6 - 4.302653 * 0.1 / math.sqrt(3), abs=1e-6)
    assert Mean.of([0.9, 1.0, 1.0], most=1.0).high == 1.0
    assert Mean.of([0.0, 0.0, 0.1]).low == 0.0
    assert Mean.of([math.nan, 1.0]).low is None
