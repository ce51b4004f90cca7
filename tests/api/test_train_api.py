from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import fedward
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.base.validate import InvalidType, InvalidValue
from fedward.cli import app
from fedward.rundir.run_record import RunRecord
from support import tiny_federation, tiny_model, tiny_sgd
from tiny_experiment import CONTENT, TEXT


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "first.toml"
    path.write_text(TEXT)
    return path


def test_a_file_gives_the_run_that_the_command_gives(file: Path) -> None:
    found = fedward.train(file, compute=IN_PROCESS, quiet=True)
    assert found.path == Path("runs/first")
    answer = CliRunner().invoke(app, ["run", str(file), "--out", "other", "--workers", "0", "--json"])
    assert answer.exit_code == 0
    assert found.result is not None
    told = json.loads(answer.stdout)
    stored = found.result.to_json()
    assert {key: told[key] for key in stored} == stored
    assert (found.path / "ledger.json").read_bytes() == Path("other/ledger.json").read_bytes()


def test_a_dictionary_is_the_same_experiment(file: Path) -> None:
    of_file = fedward.train(str(file), compute=IN_PROCESS, quiet=True)
    of_tables = fedward.train(CONTENT, out="tables", compute=IN_PROCESS, quiet=True)
    assert of_tables.result == of_file.result


@pytest.mark.parametrize(
    "changes", [{"rounds": 1, "algorithm.clip_bound": 0.5}, ["rounds=1", "algorithm.clip_bound=0.5"]]
)
def test_changes_are_put_in_and_what_was_given_stays_as_it_is(file: Path, changes: Any) -> None:
    before = json.dumps(CONTENT)
    sources: list[Path | dict[str, Any]] = [file, CONTENT]
    for number, source in enumerate(sources):
        found = fedward.train(source, changes=changes, out=f"changed{number}", compute=IN_PROCESS, quiet=True)
        assert found.rounds == 1
        assert found.experiment["algorithm"]["clip_bound"] == 0.5
    assert json.dumps(CONTENT) == before


def test_the_same_call_goes_on_where_it_was_left_and_a_finished_run_is_read(file: Path) -> None:
    first = fedward.train(file, compute=IN_PROCESS, quiet=True)
    again = fedward.train(file, compute=IN_PROCESS, quiet=True)
    assert again.result == first.result
    assert again.manifest == first.manifest


def test_an_algorithm_still_trains_round_by_round() -> None:
    algorithm = fedward.presets.fedavg(sampler=fedward.EveryoneSampler(), local=tiny_sgd())
    federation, model = tiny_federation(), tiny_model()
    by_place = list(fedward.rounds(algorithm, model, federation, rounds=2, seed=1))
    by_name = list(fedward.rounds(algorithm=algorithm, model=model, federation=federation, rounds=2, seed=1))
    assert [state.round for state, _ in by_place] == [1, 2]
    assert by_place[-1][0].parameters.equal(by_name[-1][0].parameters)


def test_quiet_says_nothing_and_else_there_is_a_heading(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fedward.train(file, compute=IN_PROCESS, quiet=True)
    assert capsys.readouterr().out == ""
    fedward.train(file, out="heard", compute=IN_PROCESS)
    assert "user_dp_fedavg on digits: 10 users" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "options", "kind", "message"),
    [
        (
            42,
            {},
            InvalidType,
            "must be the path of a file, a dictionary or an Algorithm, got int",
        ),
        (CONTENT, {}, InvalidValue, "out must be given where the experiment is no file, got none"),
        ("nowhere.toml", {}, InvalidValue, "there is no file nowhere.toml"),
        (CONTENT, {"changes": "rounds=1", "out": "x"}, InvalidType, "changes must be a dictionary or a list"),
        (CONTENT, {"changes": {"runds": 1}, "out": "x"}, InvalidValue, "experiment --set runds=1 is not"),
        (CONTENT, {"compute": Compute(device="abacus"), "out": "x"}, InvalidValue, "device must be one"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    wrong: Any,
    options: dict[str, Any],
    kind: type[Exception],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        fedward.train(wrong, **options)
    assert not list(tmp_path.iterdir())


def test_the_record_is_what_load_reads(file: Path) -> None:
    found = fedward.train(file, compute=IN_PROCESS, quiet=True)
    read = fedward.load(found.path)
    assert isinstance(read, RunRecord)
    assert read.result == found.result
    table = found.to_pandas()
    assert list(table["round"]) == [1, 2]
