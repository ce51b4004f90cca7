"""A tiny arena: two attacks on three defences, one of which cannot work with so few users."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

from fedward.config.arena_section import Arena, read_arena

TEXT = """
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
sampler = { name = "everyone" }
local = { name = "sgd", learning_rate = 0.1, batch_size = 3, epochs = 1 }
[attack]
who = { name = "random", count = 2 }
[privacy]
accountant = "rdp"
[arena]
seeds = 2
[arena.attacks.flip]
data = [{ name = "label_flip", target = 0 }]
[arena.attacks.loud]
knowledge = "cohort"
model = [{ name = "min_max" }]
[arena.defences.krum]
preset = "krum"
malicious = 2
[arena.defences.bulyan]
preset = "bulyan"
malicious = 3
[arena.defences.noise]
preset = "user_dp_fedavg"
clip_bound = 0.5
noise_multiplier = 1.0
"""


def arena_content(**table: Any) -> dict[str, Any]:
    """Its tables, with other keys in ``[arena]``."""
    content = copy.deepcopy(tomllib.loads(TEXT))
    content["arena"] |= table
    return content


def arena_of(**table: Any) -> Arena:
    return read_arena(arena_content(**table), "file.toml")
