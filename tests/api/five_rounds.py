"""The tables of a small experiment with noise: five rounds of user_dp_fedavg."""

from __future__ import annotations

from typing import Any

TABLES: dict[str, Any] = {
    "seed": 1,
    "rounds": 5,
    "data": {
        "name": "synthetic",
        "users": 100,
        "examples": 5,
        "features": 4,
        "classes": 3,
        "test_examples": 20,
    },
    "model": {"name": "logistic_regression"},
    "algorithm": {
        "preset": "user_dp_fedavg",
        "clip_bound": 1.0,
        "noise_multiplier": 2.0,
        "sampler": {"name": "poisson", "rate": 0.1},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 5, "epochs": 1},
    },
    "privacy": {"users": 100, "delta": 1e-3},
}
