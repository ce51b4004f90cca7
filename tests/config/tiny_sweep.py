"""A tiny experiment, and sweeps over it."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

from fedward.config.sweep_section import Sweep, read_sweep

CONTENT = tomllib.loads(
    """
    seed = 4
    rounds = 2
    [data]
    name = "synthetic"
    users = 12
    examples = 6
    features = 4
    classes = 3
    test_examples = 40
    [model]
    name = "logistic_regression"
    [algorithm]
    preset = "user_dp_fedavg"
    clip_bound = 0.5
    noise_multiplier = 1.0
    sampler = { name = "poisson", rate = 0.9 }
    local = { name = "sgd", learning_rate = 0.1, batch_size = 3, epochs = 1 }
    [privacy]
    accountant = "rdp"
    """
)


def sweep_of(table: dict[str, Any], **changes: Any) -> Sweep:
    return read_sweep({**copy.deepcopy(CONTENT), **changes, "sweep": table}, "file.toml")
