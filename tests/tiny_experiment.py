"""Small experiments for tests that need some: private ones, as tables and as files, and a plain one."""

from __future__ import annotations

import copy
from typing import Any

CONTENT: dict[str, Any] = {
    "seed": 1,
    "rounds": 2,
    "data": {"name": "digits", "users": 10},
    "model": {"name": "logistic_regression"},
    "algorithm": {
        "preset": "user_dp_fedavg",
        "clip_bound": 1.0,
        "noise_multiplier": 2.0,
        "sampler": {"name": "poisson", "rate": 0.5},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 50, "epochs": 1},
    },
    "privacy": {"users": 10, "delta": 0.01, "accountant": "rdp"},
}
TEXT = """
seed = 1
rounds = 2
data = { name = "digits", users = 10 }
model = { name = "logistic_regression" }
privacy = { users = 10, delta = 0.01, accountant = "rdp" }
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 2.0
sampler = { name = "poisson", rate = 0.5 }
local = { name = "sgd", learning_rate = 0.1, batch_size = 50, epochs = 1 }
"""
PLAIN = """
seed = 1
rounds = 2
data = { name = "digits", users = 6 }
model = { name = "logistic_regression" }
[algorithm]
preset = "fedavg"
sampler = { name = "everyone" }
local = { name = "sgd", learning_rate = 0.1, batch_size = 50, epochs = 1 }
"""
TWENTY = """
seed = 1
rounds = 2
[data]
name = "digits"
users = 20
[model]
name = "logistic_regression"
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 0.5
noise_multiplier = 1.0
sampler = { name = "poisson", rate = 0.5 }
local = { name = "sgd", learning_rate = 0.1, batch_size = 10, epochs = 1 }
[privacy]
users = 20
accountant = "rdp"
"""
THIRTY = """
seed = 1
rounds = 2
[data]
name = "digits"
users = 30
[model]
name = "logistic_regression"
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 1.0
sampler = { name = "poisson", rate = 0.8 }
local = { name = "sgd", learning_rate = 0.5, batch_size = 10, epochs = 3 }
[privacy]
users = 30
delta = 1e-3
accountant = "rdp"
"""


def changed(content: dict[str, Any], /, **changes: Any) -> dict[str, Any]:
    """The content with dotted keys set (``__`` for the dot); None removes a key."""
    made = copy.deepcopy(content)
    for key, value in changes.items():
        *tables, last = key.split("__")
        place = made
        for table in tables:
            place = place[table]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return made
