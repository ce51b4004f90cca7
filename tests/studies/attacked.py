"""Experiments under attack that several tests run, and what a run of them leaves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rich.console import Console

from fedward.config.experiment import from_content
from fedward.reports.terminal import run_table as terminal
from fedward.rundir import checkpoint
from fedward.rundir.results import TrainingResult
from fedward.rundir.store import open_run
from fedward.studies.training.training_study import Setup, prepare
from tiny_experiment import changed

CONTENT: dict[str, Any] = {
    "seed": 1,
    "rounds": 4,
    "data": {"name": "digits", "users": 12},
    "model": {"name": "logistic_regression"},
    "algorithm": {
        "preset": "fedavg",
        "sampler": {"name": "poisson", "rate": 0.5},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 50, "epochs": 1},
    },
    "attack": {"who": {"name": "random", "count": 4}, "data": [{"name": "single_pixel"}]},
    "privacy": {"delta": 1e-3, "accountant": "rdp"},
}
TOML = """
seed = 1
rounds = 2
[data]
name = "digits"
users = 12
[model]
name = "logistic_regression"
[algorithm]
preset = "fedavg"
sampler = { name = "poisson", rate = 0.5 }
local = { name = "sgd", learning_rate = 0.1, batch_size = 50, epochs = 1 }
[attack]
who = { name = "named", users = [3, 5] }
knowledge = "cohort"
rounds = [0, 1]
[[attack.data]]
name = "semantic"
target = 1
rate = 0.5
feature = { name = "bold_digit", label = 7, ink = 0.33 }
[[attack.data]]
name = "single_pixel"
[[attack.model]]
name = "collude"
[[attack.model]]
name = "scale"
factor = 3
"""
PRIVATE: dict[str, Any] = CONTENT["algorithm"] | {
    "preset": "user_dp_fedavg",
    "clip_bound": 0.5,
    "noise_multiplier": 1.0,
}
KRUM: dict[str, Any] = CONTENT["algorithm"] | {"preset": "krum", "malicious": 1}


def content(**changes: Any) -> dict[str, Any]:
    """The experiment with some keys changed: ``attack__who={...}`` stands for ``attack.who``."""
    return changed(CONTENT, **changes)


def setup_for(**changes: Any) -> Setup:
    return prepare(from_content(content(**changes)))


def printed(setup: Setup, path: Path) -> str:
    console = Console(width=200, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    terminal.heading(console, setup, path)
    with open_run(path) as directory:
        result = directory.result()
        assert isinstance(result, TrainingResult)
        terminal.result(console, setup, directory.ledger(), result, directory.metrics())
    console.file.close()
    return console.export_text()


def left(path: Path) -> dict[str, Any]:
    """All that must not depend on how often a run was interrupted."""
    state = checkpoint.from_bytes((path / "checkpoint.pt").read_bytes(), "checkpoint")
    names = ("ledger.json", "rounds.jsonl", "telemetry.jsonl", "result.json")
    manifest = json.loads((path / "run.json").read_text())
    del manifest["environment"]  # when it was begun
    texts = {name: (path / name).read_text() for name in names}
    return texts | {"run.json": manifest, "parameters": state.parameters.tolist()}
