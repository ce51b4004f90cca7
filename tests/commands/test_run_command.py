from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command_line import answer
from fedward.base import json_lines as lines
from studies.attacked import TOML, left


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """Runs the command in this process, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    return partial(answer, monkeypatch=monkeypatch, capsys=capsys)


def test_the_command_runs_an_experiment_under_attack(fedward: Any, tmp_path: Path) -> None:
    (tmp_path / "attack.toml").write_text(TOML)
    code, out, err = fedward("run", "attack.toml", "--json")
    assert code == 0
    result = json.loads(out)
    assert 0 <= result["attack_success"] <= 1
    assert result["norms"]["malicious"] > 0
    assert "under attack: 2 of 12 users, semantic, single_pixel, collude, scale" in err
    records = lines.read(tmp_path / "runs" / "attack" / "rounds.jsonl")
    assert [record["attack_success"] for record in records][-1] == result["attack_success"]
    assert all(record["attack_cost"] > 0 for record in records)
    code, out, _ = fedward("run", "attack.toml")
    assert code == 0
    assert "attack success" in out


def test_a_refused_file_neither_makes_nor_changes_a_run(fedward: Any, tmp_path: Path) -> None:
    for number, (old, new, message) in enumerate(
        [
            (
                "rounds = [0, 1]",
                "rounds = [2]",
                "attack.rounds must lie below the number of rounds, 2, got 2",
            ),
            ("target = 1", "target = 11", "attack: target label must be below the number of classes, 10"),
            ("users = [3, 5]", "users = [3, 50]", "attack: attacker 50 is not among the 12 users"),
            ('"cohort"', '"own"\ntest_share = 2.0', "attack: share of triggered test examples must be above"),
        ]
    ):
        assert old in TOML
        (tmp_path / f"bad{number}.toml").write_text(TOML.replace(old, new))
        code, _, err = fedward("run", f"bad{number}.toml")
        assert code == 2
        assert message in err
        assert "Traceback" not in err
    assert not (tmp_path / "runs").exists()
    (tmp_path / "good.toml").write_text(TOML)
    assert fedward("run", "good.toml", "--out", "run")[0] == 0
    before = left(tmp_path / "run")
    assert fedward("run", "bad1.toml", "--out", "run")[0] == 2
    assert left(tmp_path / "run") == before
