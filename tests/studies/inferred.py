"""Small runs of ``fedward infer``, by its own command."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import exit_code
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import load
from tiny_experiment import PLAIN

MEMBERSHIP = """
seed = 1
rounds = 2
data = { name = "synthetic", users = 60, examples = 6, alpha = 1.0, test_examples = 20 }
model = { name = "logistic_regression" }
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 3.0
noise_multiplier = 1.0
sampler = { name = "everyone" }
local = { name = "sgd", learning_rate = 1.0, batch_size = 6, epochs = 3 }
[privacy]
delta = 1e-3
accountant = "rdp"
"""
PROPERTY = PLAIN.replace("rounds = 2", "rounds = 12")


def inferred(path: Path, kind: str, content: str, *options: str) -> Path:
    """The directory of a finished run."""
    file = path / f"{kind}.toml"
    file.write_text(content)
    arguments = ("infer", kind, file, *options, "--workers", 0, "--out", path / kind, "--json")
    with pytest.MonkeyPatch.context() as patch:
        assert exit_code(*arguments, monkeypatch=patch) == 0
    return path / kind


def membership(path: Path) -> Path:
    return inferred(path, "membership", MEMBERSHIP, "--unit", "user", "--targets", "2", "--shadows", "4")


def property_of(path: Path) -> Path:
    return inferred(path, "property", PROPERTY, "--property", "label:3", "--users", "3", "--features", "20")


def read(path: Path) -> InferenceRecord:
    """A run that must be one of ``fedward infer``."""
    record = load(path)
    assert isinstance(record, InferenceRecord)
    return record
