from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from command_line import exit_code as fedward
from tiny_experiment import THIRTY

EXPERIMENT = THIRTY.replace('"digits"', '"synthetic"\nexamples = 8\nalpha = 1.0\ntest_examples = 50').replace(
    "batch_size = 10", "batch_size = 8"
)
PLAIN = (
    EXPERIMENT.replace('"user_dp_fedavg"', '"fedavg"')
    .replace("clip_bound = 1.0\n", "")
    .replace("noise_multiplier = 1.0\n", "")
    .replace('"poisson", rate = 0.8', '"everyone"')
)
WATCHED = PLAIN.replace("rounds = 2", "rounds = 12")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "experiment.toml"
    path.write_text(EXPERIMENT)
    return path


def test_membership_is_attacked_from_an_experiment_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "run"
    command = ("infer", "membership", file, "--unit", "user", "--shadows", 4, "--out", out)
    assert fedward(*command, monkeypatch=monkeypatch) == 0
    text = " ".join(capsys.readouterr().out.split())
    for expected in (
        "likelihood ratio, offline",
        "over 1 attacked training; 4 shadow trainings",
        "a false positive rate of 0.001 needs at least 1,000 users not trained on",
        "most that privacy allows: user level, add/remove, Poisson sampling q = 0.8, 2 rounds",
        "one training: (ε = ",
        "membership.png and result.json are in",
    ):
        assert expected in text
    assert (out / "membership.png").read_bytes().startswith(b"\x89PNG")
    assert fedward(*command, "--json", monkeypatch=monkeypatch) == 0  # nothing is trained again
    answer = json.loads(capsys.readouterr().out)
    assert answer["directory"] == str(out)
    stored = json.loads((out / "result.json").read_text())
    assert {**stored, "directory": str(out)} == answer
    assert set(answer["attacks"]) == {"loss threshold", "likelihood ratio", "likelihood ratio, offline"}
    assert answer["crossed"] == {}
    assert 0.5 < answer["limit"]["auc"] < 1


def test_a_property_is_asked_about_from_an_experiment_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(WATCHED)
    out = file.parent / "run"
    command = ("infer", "property", file, "--property", "label:3", "--users", 2, "--out", out)
    assert fedward(*command, monkeypatch=monkeypatch) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "fedavg on synthetic: 2 users" in text
    assert "no guarantee: no noise is added" in text
    assert "accuracy of the model on its main task" in text
    assert (out / "property.png").read_bytes().startswith(b"\x89PNG")
    assert fedward(*command, "--json", monkeypatch=monkeypatch) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["rounds"] == answer["positives"] + answer["negatives"] == 12
    assert answer["limit"]["auc"] is None
    assert 0 <= answer["auc"]["low"] <= answer["auc"]["value"] <= answer["auc"]["high"] <= 1


def test_a_property_from_a_file_goes_with_the_data_as_it_is(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(WATCHED)
    np.save(file.parent / "property.npy", np.arange(240) % 3 == 0)
    command = ("infer", "property", file, "--property", file.parent / "property.npy", "--simulated", 1)
    monkeypatch.chdir(file.parent)
    assert fedward(*command, "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["directory"] == "runs/experiment-property"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("membership", "--shadows", 5), "shadows must be even"),
        (("membership", "--targets", 0), "targets must be at least 1"),
        (("membership", "--unit", "exampel"), "did you mean 'example'"),
        (("membership", "--engine", "fast"), "engine must be one of"),
        (("property", "--property", "label:77", "--users", 2), "class of the property must be from 0 to 9"),
        (("property", "--property", "race", "--users", 2), "label:CLASS, as synthetic has no names for any"),
        (("property", "--property", "label:1", "--users", 1), "number of users must be at least 2"),
        (("property", "--property", "label:1", "--victim", 0), "two users, got 0 for both"),
        (("property", "--property", "label:1", "--users", 2), "rounds that are asked about must be at least"),
    ],
)
def test_what_cannot_be_attacked_is_told_before_anything_is_trained(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[object, ...],
    message: str,
) -> None:
    kind, *options = arguments
    out = file.parent / "run"
    assert fedward("infer", kind, file, *options, "--out", out, monkeypatch=monkeypatch) == 2
    assert message in " ".join(capsys.readouterr().err.split())
    assert not list(out.glob("*.npz"))
    assert not (out / "run.json").exists()
