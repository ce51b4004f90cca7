from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fedward
from fedward.base.validate import InvalidValue
from fedward.rundir.replica_store import count_finished
from tiny_experiment import CONTENT, changed

EASY = changed(
    CONTENT,
    data__public_features={"name": "hog", "cells": 4, "public_users": 4, "neighbours": 8, "dimensions": 9},
    data__users=24,
    privacy__users=20,
    model={"name": "linear_head"},
    algorithm__local={"name": "class_means"},
    algorithm__sampler={"name": "everyone"},
    algorithm__noise_multiplier=1.0,
    rounds=1,
)
RULE: dict[str, Any] = {"score": "vote", "method": "betting_votes", "threats": ["inject"], "quiet": True}


def certify(out: Path, replicas: int, **options: Any) -> Any:
    usual = {"block": 40, "save_space": True}
    return fedward.certify(EASY, replicas=replicas, out=out, **usual | RULE | options)


def test_certification_ends_once_every_example_is_decided_and_its_certificate_holds(tmp_path: Path) -> None:
    run = tmp_path / "run"
    certify(run, 4000, until=[10])
    finished = count_finished(run)
    assert 40 <= finished < 4000
    content = json.loads((run / "certificate.json").read_text())
    assert content["setting"]["confidence"]["looks"] == [finished]
    certify(run, 4000, until=[10])  # again: nothing more is trained, and the certificate is the same
    assert count_finished(run) == finished
    assert json.loads((run / "certificate.json").read_text())["predictions"] == content["predictions"]


def test_m_is_the_most_where_something_stays_undecided(tmp_path: Path) -> None:
    certify(tmp_path / "run", 80, until=[1])
    assert count_finished(tmp_path / "run") == 80


def test_stopping_early_needs_a_bound_that_holds_at_any_time(tmp_path: Path) -> None:
    for wrong in ({"method": "clopper_pearson"}, {"score": "confidence", "method": "betting_sequence"}):
        with pytest.raises(InvalidValue, match="needs votes and a bound that holds at any time"):
            certify(tmp_path / "run", 80, until=[1], save_space=False, **wrong)


def test_stopping_early_needs_all_replicas_in_one_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"--until needs all replicas in one place, .* got --range 0:40"):
        certify(tmp_path / "run", 80, until=[1], range="0:40")
    assert not (tmp_path / "run").exists()
