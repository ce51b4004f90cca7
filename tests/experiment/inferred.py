"""Small runs of ``fedward infer``, by its own command."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fedward.cli import main

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
PROPERTY = """
seed = 1
rounds = 12
data = { name = "digits", users = 6 }
model = { name = "logistic_regression" }
[algorithm]
preset = "fedavg"
sampler = { name = "everyone" }
local = { name = "sgd", learning_rate = 0.1, batch_size = 50, epochs = 1 }
"""


def inferred(path: Path, kind: str, content: str, *options: str) -> Path:
    """The directory of a finished run."""
    file = path / f"{kind}.toml"
    file.write_text(content)
    with pytest.MonkeyPatch.context() as patch:
        arguments = [
            "infer",
            kind,
            str(file),
            *options,
            "--workers",
            "0",
            "--out",
            str(path / kind),
            "--json",
        ]
        patch.setattr(sys, "argv", ["fedward", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
    assert not end.value.code
    return path / kind


def membership(path: Path) -> Path:
    return inferred(path, "membership", MEMBERSHIP, "--unit", "user", "--targets", "2", "--shadows", "4")


def property_of(path: Path) -> Path:
    return inferred(path, "property", PROPERTY, "--property", "label:3", "--users", "3", "--features", "20")
