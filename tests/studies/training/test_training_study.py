from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from fedward.base import json_lines as lines
from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content
from fedward.privacy import ledger_file
from fedward.rundir import checkpoint
from fedward.rundir.store import open_run
from fedward.studies.training.training_study import Setup, prepare
from studies.killing import assert_no_kill_changes, killed_and_resumed_everywhere, run_to_end
from tiny_experiment import CONTENT as TINY
from tiny_experiment import changed
from training_steps import run

CONTENT = changed(
    TINY,
    rounds=4,
    algorithm__clip_bound=0.5,
    algorithm__noise_multiplier=1.0,
    algorithm__server={"name": "momentum"},
    privacy__delta=1e-3,
    evaluation={"every": 2},
)


def setup_for(**changes: Any) -> Setup:
    return prepare(from_content(changed(CONTENT, **changes)))


SETUP = setup_for()


def contents(path: Path) -> dict[str, Any]:
    """All that must not depend on how often a run was interrupted."""
    state = checkpoint.from_bytes((path / "checkpoint.pt").read_bytes(), "checkpoint")
    return {
        "parameters": state.parameters.tolist(),
        "server": [tensor.tolist() for tensor in state.server],
        "state ledger": ledger_file.dumps(state.ledger),
        "ledger": (path / "ledger.json").read_text(),
        "rounds": (path / "rounds.jsonl").read_text(),
        "telemetry": (path / "telemetry.jsonl").read_text() if (path / "telemetry.jsonl").exists() else None,
        "result": (path / "result.json").read_text(),
        "model": {
            name: value.tolist() for name, value in torch.load(path / "model.pt", weights_only=True).items()
        },
    }


def test_a_run_leaves_its_result_and_a_ledger_that_can_be_verified(tmp_path: Path) -> None:
    result = run_to_end(SETUP, tmp_path)
    assert result["rounds"] == 4
    assert not result["stopped_by_budget"]
    assert result["guarantee"]["epsilon"] == pytest.approx(SETUP.planned.epsilon)
    assert [record["round"] for record in lines.read(tmp_path / "rounds.jsonl")] == [1, 3]
    assert [record["round"] for record in lines.read(tmp_path / "telemetry.jsonl")] == [0, 1, 2, 3]
    checks = ledger_file.verify((tmp_path / "ledger.json").read_text())
    assert [check.holds for check in checks] == [True]
    module = SETUP.model
    module.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))


def test_every_file_is_json_that_any_reader_takes(tmp_path: Path) -> None:
    """Without a bound, and with a learning rate at which nothing stays finite for long."""
    content = json.loads(json.dumps(CONTENT))
    content["algorithm"] = {
        "preset": "fedavg",
        "sampler": {"name": "everyone"},
        "local": CONTENT["algorithm"]["local"] | {"learning_rate": 3e38, "batch_size": 1000},
    }
    result = run_to_end(prepare(from_content(content)), tmp_path)

    def refuse(name: str) -> None:
        raise AssertionError(name)

    for file in ("rounds.jsonl", "telemetry.jsonl", "result.json", "run.json", "ledger.json"):
        text = (tmp_path / file).read_text()
        for piece in text.splitlines() if file.endswith("l") else [text]:
            json.loads(piece, parse_constant=refuse)
    assert result["rejected_updates"] >= 10
    assert result["loss"] is None


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    run_to_end(SETUP, tmp_path)
    before = contents(tmp_path)
    with open_run(tmp_path) as directory:
        assert list(run(SETUP, directory)) == []
    assert contents(tmp_path) == before


def test_a_run_killed_at_any_file_operation_ends_bit_identical(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_no_kill_changes(contents, setup_for(rounds=2), tmp_path, monkeypatch)


def test_with_system_entropy_a_lost_round_is_charged_again_and_never_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = setup_for(rounds=2, algorithm__noise_source="system")
    found = killed_and_resumed_everywhere(setup, tmp_path, monkeypatch)
    charged = []
    for killed in map(contents, found):
        ledger, _ = ledger_file.loads(killed["ledger"])
        assert ledger.rounds == 2
        charged.append(sum(count for _, count in ledger.spending))
        assert killed["telemetry"] is None
        assert killed["state ledger"].count("Gaussian") >= 1
    assert set(charged) == {2, 3}


def test_a_budget_ends_the_run_and_the_result_says_so(tmp_path: Path) -> None:
    setup = setup_for(rounds=30, privacy__budget=8.0)
    result = run_to_end(setup, tmp_path)
    assert result["stopped_by_budget"]
    assert result["rounds"] < 30
    assert result["guarantee"]["epsilon"] <= 8.0
    assert setup.guarantee(result["rounds"] + 1).epsilon > 8.0


def test_what_the_looks_of_a_policy_cost_is_in_the_result(tmp_path: Path) -> None:
    content = json.loads(json.dumps(CONTENT))
    del content["algorithm"]["clip_bound"]
    content["algorithm"] |= {
        "preset": "clip_norm_decay",
        "initial_bound": 0.5,
        "decay": 0.9,
        "local": CONTENT["algorithm"]["local"],
    }
    content["privacy"]["accountant"] = "moments"
    result = run_to_end(prepare(from_content(content)), tmp_path)
    assert result["epsilon_of_looks"] < result["guarantee"]["epsilon"]
    assert result["shares"][1].startswith("as the papers add up")


def test_another_experiment_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    run_to_end(SETUP, tmp_path)
    before = contents(tmp_path)
    with pytest.raises(
        InvalidValue, match=r"holds another run: experiment.algorithm.clip_bound \(0.5 there, 0.6 here\)"
    ):
        run_to_end(setup_for(algorithm__clip_bound=0.6), tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.usefixtures("edited_by_hand")
def test_changed_data_is_refused(tmp_path: Path) -> None:
    run_to_end(SETUP, tmp_path)
    manifest = json.loads((tmp_path / "run.json").read_text())
    manifest["data"]["digest"] = "0" * 32
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(InvalidValue, match=r"data\.digest"):
        run_to_end(SETUP, tmp_path)


def test_a_second_process_is_kept_out(tmp_path: Path) -> None:
    with (
        open_run(tmp_path),
        pytest.raises(InvalidValue, match="in use by another process"),
        open_run(tmp_path),
    ):
        pass
    run_to_end(SETUP, tmp_path)


@pytest.mark.parametrize("name", ["checkpoint.pt", "ledger.json", "run.json"])
def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path, name: str) -> None:
    with open_run(tmp_path) as directory:
        rounds = run(SETUP, directory)
        next(rounds)
        next(rounds)
    file = tmp_path / name
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(InvalidValue):
        run_to_end(SETUP, tmp_path)


@pytest.mark.parametrize("name", ["ledger.json", "run.json", "checkpoint.pt"])
def test_a_run_that_has_lost_a_file_is_not_gone_on_with(tmp_path: Path, name: str) -> None:
    """Without a ledger nobody knows what was spent; without a checkpoint rounds would be released twice."""
    with open_run(tmp_path) as directory:
        rounds = run(SETUP, directory)
        for _ in range(3):
            next(rounds)
    (tmp_path / name).unlink()
    with pytest.raises(InvalidValue):
        run_to_end(SETUP, tmp_path)


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidValue, match="cannot be written"), open_run(tmp_path / "file" / "run"):
        pass


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"algorithm__sampler": {"name": "fixed_size", "size": 11}},
            "at most the number of users, 10, got 11",
        ),
        (
            {"algorithm__sampler": {"name": "fixed_size", "size": 5}, "privacy__accountant": "pld"},
            "rdp",
        ),
        ({"privacy__budget": 0.01}, "one round"),
        ({"data__users": 5000}, "5000"),
        ({"data__alpha": 0.5}, "alpha"),
        ({"model__name": "mnist_cnn"}, "28"),
    ],
)
def test_what_does_not_fit_together_is_refused_before_any_work(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        setup_for(**changes)
