"""Runs and pre-trainings that start from weights in a file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment, from_content
from fedward.models import build, weights_file
from fedward.rundir.store import open_run
from fedward.studies.training.setup import Setup, prepare
from studies.pretrained import pretrain, pretrained, pretraining
from training_steps import run


def experiment(**model: Any) -> Experiment:
    return from_content(
        {
            "seed": 1,
            "rounds": 1,
            "data": {"name": "digits", "users": 20},
            "model": {"name": "mlp", **model},
            "algorithm": {
                "preset": "fedavg",
                "sampler": {"name": "everyone"},
                "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 20, "epochs": 1},
            },
        }
    )


def test_an_experiment_starts_from_its_weights(tmp_path: Path) -> None:
    path = pretrained(tmp_path / "weights.pt", epochs=1)
    setup, bare = prepare(experiment(weights=str(path))), prepare(experiment())
    assert setup.weights is not None
    assert bare.weights is None
    assert len(setup.weights.loaded) == 4
    stored = weights_file.from_bytes(path.read_bytes(), "file")[1]
    assert all(torch.equal(stored[key], value) for key, value in setup.model.state_dict().items())
    fresh = build("mlp", input_shape=(1, 8, 8), num_classes=10, seed=1).state_dict()
    assert all(torch.equal(fresh[key], value) for key, value in bare.model.state_dict().items())


def test_a_pretraining_can_start_from_weights_too(tmp_path: Path) -> None:
    first = pretrained(tmp_path / "first.pt", epochs=1)
    model = {"name": "mlp", "weights": str(first)}
    wanted = pretraining(model=model, epochs=1)
    list(pretrain(wanted, tmp_path / "second.pt"))
    assert wanted.weights is not None
    abouts = [
        weights_file.from_bytes((tmp_path / f"{name}.pt").read_bytes(), name)[0]
        for name in ("first", "second")
    ]
    assert abouts[0].start != abouts[1].start
    assert abouts[1].accuracy[0] > abouts[0].accuracy[0]
    assert "weights" not in abouts[1].model  # where the file lay is nobody's business
    with pytest.raises(InvalidValue, match="holds another pre-training: start differ"):
        pretrained(tmp_path / "second.pt", epochs=1)


def test_an_experiment_without_weights_is_described_as_before() -> None:
    dumped = experiment().model_dump(mode="json")["model"]
    # What an older fedward did not know is null, which is no difference to its absence.
    assert dumped == {"name": "mlp", "hidden": None, "weights": None}
    assert Experiment.model_validate_json(experiment().model_dump_json()) == experiment()


def finish(setup: Setup, directory: Path) -> None:
    with open_run(directory) as opened:
        for _ in run(setup, opened):
            pass


def test_a_run_belongs_to_the_content_of_its_weights_and_not_to_their_place(tmp_path: Path) -> None:
    path = pretrained(tmp_path / "weights.pt", epochs=1)
    finish(prepare(experiment(weights=str(path))), tmp_path / "run")
    moved = tmp_path / "moved.pt"
    shutil.copy(path, moved)
    finish(prepare(experiment(weights=str(moved))), tmp_path / "run")
    pretrained(moved, epochs=2)
    with pytest.raises(InvalidValue, match=r"holds another run: .*data\.initial_model"):
        finish(prepare(experiment(weights=str(moved))), tmp_path / "run")
    with pytest.raises(InvalidValue, match=r"holds another run: .*data\.initial_model"):
        finish(prepare(experiment()), tmp_path / "run")
