"""Small experiments for tests that need some: a private one, as tables and as a file, and a plain one."""

from __future__ import annotations

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
    "privacy": {"delta": 0.01, "accountant": "rdp"},
}
TEXT = """
seed = 1
rounds = 2
data = { name = "digits", users = 10 }
model = { name = "logistic_regression" }
privacy = { delta = 0.01, accountant = "rdp" }
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
accountant = "rdp"
"""
