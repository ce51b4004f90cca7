from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import answer
from fedward.config.experiment import from_content
from fedward.reports.terminal import replica_table as replicas
from fedward.reports.terminal import run_table as terminal
from fedward.reports.terminal.console import plain_console
from fedward.studies.replicas.replica_setup import ReplicaRun
from fedward.studies.training.setup import prepare
from tiny_experiment import CONTENT, changed


def printed(write: Callable[[Any], None]) -> list[str]:
    console = plain_console(width=40)
    with console.capture() as captured:
        write(console)
    return captured.get().splitlines()


def test_headings_are_not_cut_where_nobody_sees_the_width() -> None:
    setup = prepare(from_content(changed(CONTENT, rounds=1)))
    lines = printed(lambda console: terminal.heading(console, setup, Path("runs") / "a"))
    assert lines == [
        "user_dp_fedavg on digits: 10 users, 1,438 training and 359 test examples",
        "logistic_regression, 650 parameters; 1 round, Poisson sampling q = 0.5, seed 1",
        f"run directory {Path('runs') / 'a'}",
    ]
    wanted = ReplicaRun(variants={"all": setup}, replicas=1, block=1)
    lines = printed(lambda console: replicas.heading(console, wanted, Path("runs") / "a"))
    assert lines[0] == "1 replica, 1 round, 10 users, 650 parameters; seed 1, 1 replica in a block"


def test_one_user_is_not_called_users(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = ("--top", 0.9, "--noise-multiplier", 1, "--sampling-rate", 1, "--rounds", 1)
    found = answer("certificate", "k", *one, monkeypatch=monkeypatch, capsys=capsys)
    assert "k = 1: certified against 1 injected user\n" in found.out
