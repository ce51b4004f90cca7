"""Tables of a small experiment; its algorithm is left to the test."""

from __future__ import annotations

from typing import Any

SGD = {"name": "sgd", "learning_rate": 0.1, "batch_size": 5, "epochs": 1}
SHAPE = {"users": 20, "examples": 5, "features": 4, "classes": 3, "test_examples": 20}
BASE: dict[str, Any] = {
    "seed": 1,
    "rounds": 2,
    "data": {"name": "synthetic", **SHAPE},
    "model": {"name": "logistic_regression"},
}
POISSON = {"name": "poisson", "rate": 0.5}
