from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import fedward
from fedward.base.validate import InvalidValue
from fedward.rundir.manifest import Manifest
from fedward.rundir.more_rounds import with_more_rounds
from fedward.rundir.store import RunDirectory
from tiny_experiment import CONTENT

IN_PROCESS = fedward.Compute(workers=0)


def train(folder: Path, **changes: Any) -> fedward.RunRecord:
    return fedward.train(CONTENT, changes=changes, out=folder, compute=IN_PROCESS, quiet=True)


def parameters(folder: Path) -> torch.Tensor:
    state = RunDirectory(folder).load_state()
    assert state is not None
    return state.parameters


def test_a_finished_run_goes_on_to_the_bits_and_the_epsilon_of_a_longer_one(tmp_path: Path) -> None:
    train(tmp_path / "grown", rounds=2)
    grown = train(tmp_path / "grown", rounds=5)
    at_once = train(tmp_path / "at once", rounds=5)
    assert torch.equal(parameters(tmp_path / "grown"), parameters(tmp_path / "at once"))
    assert grown.rounds == 5
    assert grown.guarantee() == at_once.guarantee()
    assert grown.manifest.extended == [2]
    assert grown.ledger == at_once.ledger
    assert [each.round for each in grown.metrics] == [each.round for each in at_once.metrics]


def test_a_budget_may_grow_too(tmp_path: Path) -> None:
    full = train(tmp_path / "full", rounds=6).guarantee()
    assert full is not None
    small = train(tmp_path / "run", rounds=6, **{"privacy.budget": full.epsilon / 2})
    assert small.result is not None
    assert small.result.stopped_by_budget
    grown = train(tmp_path / "run", rounds=6, **{"privacy.budget": full.epsilon * 1.01})
    assert grown.rounds == 6
    found = grown.guarantee()
    assert found is not None
    assert found.epsilon == full.epsilon


@pytest.mark.parametrize("changes", [{"rounds": 1}, {"rounds": 5, "seed": 2}, {"privacy.budget": 50.0}])
def test_fewer_rounds_a_smaller_budget_or_another_experiment_are_another_run(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    train(tmp_path / "run", rounds=2)
    before = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}
    with pytest.raises(InvalidValue, match="holds another run"):
        train(tmp_path / "run", **({"rounds": 2} | changes))
    assert {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()} == before


def test_a_kill_between_the_two_steps_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    train(tmp_path / "run", rounds=2)
    (tmp_path / "run" / "result.json").unlink()
    assert train(tmp_path / "run", rounds=2).rounds == 2
    (tmp_path / "run" / "result.json").unlink()
    assert train(tmp_path / "run", rounds=3).rounds == 3


def test_replicas_and_inference_attacks_are_not_given_more() -> None:
    many = Manifest(experiment={"variants": {"all": {"rounds": 2}}})
    assert with_more_rounds(many, Manifest(experiment={"rounds": 3})) is None
    asked = Manifest(experiment={"rounds": 2, "inference": {"kind": "membership"}})
    assert with_more_rounds(asked, Manifest(experiment={"rounds": 3})) is None
