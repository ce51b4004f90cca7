from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command_line import answer
from fedward.config.starter.starter import starter
from fedward.presets import PRESETS
from tiny_experiment import TWENTY

FILE = TWENTY.replace("rounds = 2", "rounds = 4") + "delta = 1e-3\n"


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.toml").write_text(FILE, encoding="utf8")
    return partial(answer, "check", monkeypatch=monkeypatch, capsys=capsys)


def test_a_file_is_checked_and_nothing_is_written(check: Any, tmp_path: Path) -> None:
    code, out, err = check("file.toml")
    assert (code, err) == (0, "")
    assert "file.toml is a valid experiment" in out
    for said in (
        "digits: 20 users with 71 to 72 examples each, 1,438 in all; 359 for testing; 10 classes",
        "logistic_regression, 650 parameters",
        "user_dp_fedavg, Poisson sampling q = 0.5",
        "nobody attacks",
        "about 10 users in a round: about 40 local trainings",
        "rdp accountant",
        "by pld: ε = ",
        "by moments: ε = ",
        "an estimate, from",
        "kB",
        "note: noise is seeded",
    ):
        assert said in out
    assert [file.name for file in tmp_path.iterdir()] == ["file.toml"]


def test_programs_get_the_same_as_json(check: Any) -> None:
    code, out, _ = check("file.toml", "--json", "--no-calibration", "-m", 100)
    found = json.loads(out)
    assert code == 0
    assert found["valid"] is True
    assert found["rounds"] == {"wanted": 4, "expected": 4, "ended_by_budget": False}
    assert found["jobs"]["asked_for"] == 4000
    assert found["jobs"]["run"] == pytest.approx(3020)
    assert found["epsilon"] == found["guarantee"]["epsilon"]
    assert found["other_accountants"]["pld"]["epsilon"] < found["epsilon"]
    assert found["seconds"] is None
    assert [each["threat"] for each in found["ceilings"]] == ["inject", "present", "compromise"]
    assert {each["replicas"] for each in found["ceilings"]} == {100}


def test_the_largest_k_that_so_many_replicas_could_certify_is_said(check: Any) -> None:
    _, out, _ = check("file.toml", "--no-calibration", "-m", 3)
    told = " ".join(out.split())
    assert "certify With M = 3 trainings nothing at all can be certified, however good the model is" in told
    _, out, _ = check("file.toml", "--no-calibration")
    assert "however good the model is" not in " ".join(out.split())


def test_an_attack_a_budget_and_what_has_no_guarantee_are_said(check: Any) -> None:
    attack = "attack={who={name='random', count=3}, data=[{name='label_flip', target=0}], rounds=[1]}"
    _, out, _ = check("file.toml", "--no-calibration", "--set", attack, "--set", "privacy.budget=5")
    assert "3 of 20 users, label_flip, in 1 round;" in out
    assert "4, but the budget of ε = 5 ends training after" in out
    assert "not estimated" in out
    changes = ["algorithm.preset=median", "algorithm.noise_multiplier=", "privacy="]
    options = [option for change in changes for option in ("--set", change)]
    _, out, _ = check("file.toml", "--no-calibration", *options)
    assert "no guarantee: no noise is added" in out
    assert "by pld" not in out


def test_data_that_is_missing_is_named_with_its_place(check: Any, tmp_path: Path) -> None:
    options = ["--set", "data={name='table', file='mine.csv'}", "--data", tmp_path / "there"]
    code, out, err = check("file.toml", *options)
    assert (code, out) == (2, "")
    assert f"there is no directory {tmp_path / 'there'}" in err
    assert not (tmp_path / "there").exists()
    (tmp_path / "there").mkdir()
    code, out, err = check("file.toml", *options)
    assert (code, out) == (2, "")
    assert "its data, table, cannot be loaded" in err
    assert str(tmp_path / "there" / "mine.csv") in err


@pytest.mark.parametrize(
    ("changes", "messages"),
    [
        (
            ["algorithm.sampler.rate=1.5", "data.users='x'"],
            ["at most 1, got 1.5", "data.users must be a whole"],
        ),
        (["data.users=5000"], ["its data, digits, cannot be loaded: number of users must be at most"]),
        (["model.name=word_lstm"], ["does not fit together", "word_lstm"]),
        (["algorithm.clip_bound=0.5", "algorithm.clip='layered'"], ["algorithm.clip must be one of"]),
    ],
)
def test_what_is_wrong_is_said_with_where(check: Any, changes: list[str], messages: list[str]) -> None:
    code, out, err = check("file.toml", *(option for change in changes for option in ("--set", change)))
    assert (code, out) == (2, "")
    assert "file.toml --set" in err
    assert "Traceback" not in err
    for message in messages:
        assert message in err


@pytest.mark.parametrize("preset", PRESETS)
def test_every_starter_passes(preset: str, check: Any, tmp_path: Path) -> None:
    (tmp_path / "new.toml").write_text(starter(preset=preset)[0], encoding="utf8")
    code, out, err = check("new.toml", "--no-calibration")
    assert (code, err) == (0, "")
    assert preset in out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            ("rounds=300", "algorithm.local.learning_rate_decay=0.01"),
            "rate must be positive and finite, got 0.0 in round 162 of 300 (rounds are counted from 0)",
        ),
        (
            (
                "rounds=300",
                "attack={who={name='random', count=3}, model=[{name='train_and_scale', factor=2.0, local="
                "{name='sgd', learning_rate=0.1, batch_size=10, epochs=1, learning_rate_decay=0.01}}]}",
            ),
            "attack: learning rate must be positive and finite, got 0.0 in round 162 of 300",
        ),
    ],
    ids=["honest users", "attackers"],
)
@pytest.mark.parametrize("command", ["check", "run", "replicas"])
def test_a_round_that_could_not_be_is_refused_before_anything_is_written(
    command: str,
    changes: tuple[str, ...],
    message: str,
    check: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The first rounds were run and paid for; the one that failed ended the run without a result."""
    options = [word for change in changes for word in ("--set", change)]
    options += ["-m", "4"] if command == "replicas" else []
    code, out, error = answer(command, "file.toml", *options, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 2
    assert message in error.replace("\n", " ")
    assert "valid" not in out
    assert "Traceback" not in error
    assert [file.name for file in tmp_path.iterdir()] == ["file.toml"]
