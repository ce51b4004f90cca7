from __future__ import annotations

from pathlib import Path

import pytest
import torch

import fedward
from fedward.base.validate import InvalidValue
from fedward.models import build, safetensors_file, weights_file
from fedward.models.initial_weights import load_weights
from fedward.rundir.run_record import RunRecord, load
from studies.pretrained import pretrained
from tiny_experiment import CONTENT, changed

pytest.importorskip("safetensors", reason="safetensors is an extra")


def loaded(path: Path) -> RunRecord:
    record = load(path)
    assert isinstance(record, RunRecord)
    return record


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("released") / "run"
    fedward.train(CONTENT, out=out, quiet=True)
    return out


def test_other_programs_read_the_weights_and_what_is_promised(run: Path, tmp_path: Path) -> None:
    from safetensors import safe_open

    file = fedward.weights(run, tmp_path / "model.safetensors")
    stored = torch.load(run / "model.pt", weights_only=True)
    with safe_open(str(file), framework="pt") as opened:
        assert set(opened.keys()) == set(stored)
        assert all(torch.equal(opened.get_tensor(name), stored[name]) for name in stored)
        about = opened.metadata()
    assert about["fedward.model"] == "logistic_regression"
    assert about["fedward.guarantee"] == str(loaded(run).guarantee())
    assert str(tmp_path) not in str(about)


def test_a_training_may_start_from_them_and_says_so_where_the_data_is_the_same(
    run: Path, tmp_path: Path
) -> None:
    file = fedward.weights(run, tmp_path / "model.safetensors")
    model = build("logistic_regression", input_shape=(1, 8, 8), num_classes=10, seed=5)
    load_weights(file, model, "logistic_regression")
    stored = torch.load(run / "model.pt", weights_only=True)
    assert all(torch.equal(value, stored[name]) for name, value in model.state_dict().items())
    started = fedward.train(
        changed(CONTENT, model__weights=str(file)), rounds=1, out=tmp_path / "next", quiet=True
    )
    assert "were trained on the same data set, digits" in str(started.guarantee())


def test_weights_of_pretraining_are_written_as_well(tmp_path: Path) -> None:
    source = pretrained(tmp_path / "public.pt")
    tensors, _ = safetensors_file.from_bytes(
        fedward.weights(source, tmp_path / "new" / "w.safetensors").read_bytes(), "w"
    )
    _, stored = weights_file.from_bytes(source.read_bytes(), "w")
    assert tensors.keys() == stored.keys()
    assert all(torch.equal(tensors[name], stored[name]) for name in stored)


def test_what_is_no_finished_training_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"ends in \.safetensors, got 'model.pt'"):
        fedward.weights(run, tmp_path / "model.pt")
    with pytest.raises(InvalidValue, match="a file of `fedward pretrain`, got"):
        fedward.weights(run / "model.pt", tmp_path / "w.safetensors")
    assert load(run).finished
