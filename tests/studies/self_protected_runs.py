"""Experiments in which users protect themselves, small enough for tests."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rich.console import Console

from fedward.config.experiment import from_content
from fedward.reports.terminal import run_table as terminal
from fedward.rundir.results import TrainingResult
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.training.training_study import Setup, prepare
from training_steps import run

DP_SGD: dict[str, Any] = {
    "name": "dp_sgd",
    "learning_rate": 0.2,
    "probability": 0.1,
    "expected_batch": 15.0,
    "steps": 2,
    "noise_multiplier": 1.0,
    "clip_bound": 1.0,
}
INSDP: dict[str, Any] = {
    "preset": "insdp_fedavg",
    "sampler": {"name": "poisson", "rate": 0.5},
    "local": DP_SGD,
}
ONE_STEP: dict[str, Any] = DP_SGD | {"steps": 1}
FEDSGD: dict[str, Any] = {
    "preset": "insdp_fedsgd",
    "sampler": {"name": "fixed_size", "size": 6},
    "local": ONE_STEP,
}
LDP: dict[str, Any] = {
    "preset": "ldp_fedsgd",
    "sampler": {"name": "poisson", "rate": 0.5},
    "noise_multiplier": 2.0,
}
QUANTILE: dict[str, Any] = {"name": "quantile", "initial": 0.05, "quantile": 0.5, "bit_noise": 3.0}
HISTOGRAM: dict[str, Any] = {
    "name": "histogram_median",
    "initial": 0.05,
    "least": 0.001,
    "most": 10.0,
    "bins": 8,
    "look_noise": 2.0,
    "every": 2,
    "most_looks": 1,
}
SKIP: dict[str, Any] = {
    "who": {"name": "random", "count": 2},
    "model": [{"name": "skip_local_privacy", "factor": 3.0}],
}


def setup_for(algorithm: dict[str, Any] = INSDP, **changes: Any) -> Setup:
    content: dict[str, Any] = {
        "seed": 1,
        "rounds": 3,
        "data": {"name": "digits", "users": 10},
        "model": {"name": "logistic_regression"},
        "algorithm": algorithm,
        "privacy": {"delta": 1e-4, "accountant": "rdp"},
    }
    return prepare(from_content(json.loads(json.dumps(content | changes))))


def interrupted(setup: Setup, path: Path, rounds: int) -> None:
    with open_run(path) as directory:
        going = run(setup, directory)
        for _ in range(rounds):
            next(going)


def printed(setup: Setup, path: Path) -> str:
    with Path(os.devnull).open("w") as nowhere, open_run(path) as directory:
        console = Console(width=300, record=True, file=nowhere)
        result = directory.result()
        assert isinstance(result, TrainingResult)
        terminal.result(console, setup, directory.ledger(), result, directory.metrics())
        return console.export_text()


def heading(setup: Setup) -> str:
    with Path(os.devnull).open("w") as nowhere:
        console = Console(width=300, record=True, file=nowhere)
        terminal.heading(console, setup, Path("run"))
        return console.export_text()


def rounds_of_users(path: Path) -> list[int]:
    ledgers = RunDirectory(path).user_ledgers()
    assert ledgers is not None
    return [ledgers.ledger(user).rounds for user in range(ledgers.num_users)]
