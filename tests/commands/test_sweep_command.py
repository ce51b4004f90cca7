from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command_line import answer
from tiny_experiment import TWENTY

FILE = (
    TWENTY
    + """delta = 1e-3
[attack]
who = { name = "random", count = 2 }
data = [{ name = "single_pixel" }]
[sweep]
seeds = 2
algorithm.noise_multiplier = [1.0, 2.0]
attack = [false, { who = { name = "random", count = 5 }, label = "five" }]
"""
)
ONE_LINE = "each ε: δ = 0.001, user level, add/remove, rdp accountant, seeded noise: research only"


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.toml").write_text(FILE, encoding="utf8")
    return partial(answer, monkeypatch=monkeypatch, capsys=capsys)


def test_a_sweep_leaves_runs_one_table_and_one_picture(fedward: Any, tmp_path: Path) -> None:
    code, out, err = fedward("sweep", "file.toml")
    assert (code, err) == (0, "")
    assert "4 combinations, seeds 1, 2: 8 trainings" in out
    assert "local trainings run for" in out
    assert "means over 2 seeds, with 95 % intervals" in out
    assert "choosing the best of them is not covered" in out
    path = tmp_path / "runs" / "file-sweep"
    runs = sorted(each.name for each in path.iterdir() if each.is_dir())
    assert len(runs) == 8
    assert runs[0] == "noise_multiplier=1,attack=five,seed=1"
    assert all((path / name / "result.json").is_file() for name in runs)
    with (path / "sweep.csv").open(encoding="utf8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["noise_multiplier"], row["attack"]) for row in rows] == [
        ("1", "none"),
        ("1", "five"),
        ("2", "none"),
        ("2", "five"),
    ]
    about = {key: rows[0][key] for key in ("delta", "unit", "adjacency", "accountant")}
    assert about == {"delta": "0.001", "unit": "user", "adjacency": "add/remove", "accountant": "rdp"}
    assert rows[0]["statement"].startswith("(ε = ")
    assert ONE_LINE in out
    assert rows[0]["attack_success"] == ""
    assert 0 <= float(rows[1]["attack_success"]) <= 1
    assert float(rows[0]["accuracy_low"]) <= float(rows[0]["accuracy"]) <= float(rows[0]["accuracy_high"])
    found = json.loads((path / "sweep.json").read_text(encoding="utf8"))
    assert [each["accuracy"]["mean"] for each in found["combinations"]] == [
        float(row["accuracy"]) for row in rows
    ]
    assert (path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    # Again: nothing is trained, the same is said.
    code, out, _ = fedward("sweep", "file.toml", "--json")
    assert code == 0
    assert json.loads(out) == {**found, "directory": str(Path("runs") / "file-sweep")}


def test_without_numbers_the_picture_has_bars(fedward: Any, tmp_path: Path) -> None:
    changes = ["--set", "rounds=1", "--set", "sweep={algorithm=[{preset='fedavg'}, {preset='median'}]}"]
    code, out, err = fedward("sweep", "file.toml", *changes, "--out", "bars")
    assert (code, err) == (0, "")
    assert "none" in out
    assert (tmp_path / "bars" / "sweep.png").is_file()


def test_other_commands_send_a_sweep_to_its_own(fedward: Any, tmp_path: Path) -> None:
    for command in (["run"], ["replicas", "-m", "2"], ["certify", "-m", "2", "--attackers", "1"], ["show"]):
        code, _, err = fedward(command[0], "file.toml", *command[1:])
        assert code == 2
        assert "run it with fedward sweep" in err
    code, _, err = fedward("sweep", "file.toml", "--set", "sweep=")
    assert code == 2
    assert (
        "must have a table [sweep] with seeds, or keys and lists of values, got none; add it, or run" in err
    )
    assert not (tmp_path / "runs").exists()


def test_a_sweep_is_checked_as_a_whole(fedward: Any, tmp_path: Path) -> None:
    code, out, err = fedward("check", "file.toml")
    assert (code, err) == (0, "")
    assert "file.toml is a valid sweep; its first combination, noise_multiplier=1, attack=none:" in out
    assert "noise_multiplier=2, attack=five" in out
    assert "4 combinations, seeds 1, 2: 8 trainings" in out
    assert "an estimate" in out
    assert ONE_LINE in out
    found = json.loads(fedward("check", "file.toml", "--json", "--no-calibration")[1])
    assert found["trainings"] == 8
    assert len(found["combinations"]) == 4
    assert found["seconds"] is None
    assert not (tmp_path / "runs").exists()
    code, _, err = fedward("check", "file.toml", "-m", 5)
    assert code == 2
    assert "leave out -m" in err


def test_a_run_of_another_experiment_in_its_place_is_refused(fedward: Any) -> None:
    one = ["--set", "sweep={seeds=1, rounds=[1]}"]
    assert fedward("sweep", "file.toml", *one)[0] == 0
    code, _, err = fedward("sweep", "file.toml", *one, "--set", "algorithm.clip_bound=0.25")
    assert code == 2
    assert "must be empty or of this sweep, got that of another: experiment.algorithm.clip_bound" in err
