from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content
from fedward.rundir.store import open_run
from fedward.studies.training.training_study import prepare
from studies.attacked import KRUM, PRIVATE, content, left, setup_for
from studies.killing import Killed, kill_at, run_to_end
from training_steps import run


@pytest.mark.parametrize(
    "changes",
    [
        {"algorithm": KRUM, "rounds": 2, "attack__rounds": [1]},
        {
            "algorithm": PRIVATE,
            "rounds": 2,
            "attack__who": {"name": "per_cohort", "count": 4, "each": 2},
            "attack__knowledge": "cohort",
            "attack__data": [
                {"name": "semantic", "target": 1, "feature": {"name": "bold_digit", "label": 7, "ink": 0.33}}
            ],
            "attack__model": [{"name": "a_little_is_enough"}, {"name": "sign_flip"}],
        },
        {"rounds": 2, "attack__model": [{"name": "gaussian", "std": 0.1}]},
        {
            "rounds": 2,
            "attack__data": [
                {
                    "name": "a3fl",
                    "target": 1,
                    "pattern": {"name": "square", "size": 2},
                    "steps": 4,
                    "renewed": 2,
                    "examples": 20,
                }
            ],
            "attack__model": [
                {
                    "name": "alternating_minimisation",
                    "factor": 2.0,
                    "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 10, "epochs": 1},
                }
            ],
        },
    ],
    ids=["krum in one round", "staged and colluding", "gaussian", "what follows the model"],
)
def test_a_run_under_attack_killed_anywhere_and_resumed_ends_with_the_same_bits(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = setup_for(**changes)
    run_to_end(setup, tmp_path / "whole")
    whole = left(tmp_path / "whole")
    for operation in (2, 7, 12, 18, 25):
        path = tmp_path / f"killed-at-{operation}"
        with monkeypatch.context() as patch:
            kill_at(patch, operation)
            with pytest.raises(Killed):
                run_to_end(setup, path)
        run_to_end(setup_for(**changes), path)
        assert left(path) == whole, f"killed at operation {operation}"


def test_another_attack_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    run_to_end(setup_for(rounds=1), tmp_path)
    before = left(tmp_path)
    made = content(rounds=1)
    del made["attack"]
    for setup, key in (
        (setup_for(rounds=1, attack__who={"name": "random", "count": 3}), r"experiment\.attack\.who\.count"),
        (prepare(from_content(made)), r"experiment\.attack \("),
    ):
        with pytest.raises(InvalidValue, match=f"holds another run: {key}"):
            run_to_end(setup, tmp_path)
    assert left(tmp_path) == before


@pytest.mark.usefixtures("edited_by_hand")
def test_a_run_from_before_there_were_attacks_can_be_gone_on_with(tmp_path: Path) -> None:
    made = content()
    del made["attack"]
    setup = prepare(from_content(made))
    with open_run(tmp_path) as directory:
        next(run(setup, directory))
    manifest = json.loads((tmp_path / "run.json").read_text())
    assert manifest["experiment"].pop("attack") is None
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    assert run_to_end(setup, tmp_path)["rounds"] == 4
