from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fedward as package
from command_line import answer as fedward
from fedward.models import weights_file
from processes import until

FILE = """
seed = 1
epochs = 2

[data]
name = "digits"
users = 20

[model]
name = "mlp"

[training]
learning_rate = 0.1
batch_size = 20
"""

EXPERIMENT = """
seed = 2
rounds = 1

[data]
name = "digits"
users = 20

[model]
name = "mlp"
weights = "weights/digits.pt"

[algorithm]
preset = "fedavg"
sampler = { name = "everyone" }
local = { name = "sgd", learning_rate = 0.1, batch_size = 20, epochs = 1 }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits.toml").write_text(FILE)
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    return tmp_path


def test_it_writes_weights_that_an_experiment_starts_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text, _ = fedward("pretrain", "digits.toml", monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    assert "mlp, 7,510 parameters, on digits: 1,438 training and 359 test examples in 10 classes" in text
    assert "without privacy: use public data" in text
    assert 'weights = "weights/digits.pt"' in text
    about, _ = weights_file.from_bytes((folder / "weights/digits.pt").read_bytes(), "file")
    assert str(about) in text
    assert {file.name for file in (folder / "weights").iterdir()} == {"digits.pt", ".digits.pt.fedward-lock"}

    code, text, _ = fedward("run", "experiment.toml", "--json", monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    # One round of averaging from random weights comes nowhere near.
    assert json.loads(text)["accuracy"] >= about.accuracy[-1] - 0.1


def test_a_program_gets_one_json_object_and_a_finished_file_is_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ("pretrain", "digits.toml", "--out", "mine.pt", "--engine", "generic", "--json")
    code, text, error = fedward(*ask, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    content = json.loads(text)
    assert (content["epochs"], content["private"], content["file"]) == (2, False, "mine.pt")
    assert content["model"] == {"name": "mlp"}
    assert len(content["accuracy"]) == 2
    assert "generic engine: as asked for" in error
    before = (folder / "mine.pt").stat().st_mtime_ns
    code, again, _ = fedward(*ask, monkeypatch=monkeypatch, capsys=capsys)
    assert (code, json.loads(again)) == (0, content)
    assert (folder / "mine.pt").stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epochs = 2", "epochs = 0", "epochs must be at least 1, got 0"),
        ('name = "mlp"', 'name = "mpl"', "did you mean 'mlp'?"),
        ('name = "mlp"', 'name = "mnist_cnn"', "input shape of mnist_cnn must be (1, 28, 28), got (1, 8, 8)"),
        ('name = "mlp"', 'name = "word_lstm"', "word_lstm reads words, so the data must have a vocabulary"),
        ('name = "mlp"', 'name = "mlp"\nweights = "none.pt"', "weights: there is no file none.pt"),
    ],
)
def test_what_is_wrong_is_one_message_and_nothing_is_written(
    old: str,
    new: str,
    message: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "digits.toml").write_text(FILE.replace(old, new))
    code, _, error = fedward("pretrain", "digits.toml", monkeypatch=monkeypatch, capsys=capsys)
    assert code == 2
    assert message in error
    assert "Traceback" not in error
    assert not (folder / "weights").exists()


def test_weights_of_another_model_end_an_experiment_before_it_starts(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fedward("pretrain", "digits.toml", monkeypatch=monkeypatch, capsys=capsys)
    (folder / "experiment.toml").write_text(EXPERIMENT.replace('"mlp"', '"digits_cnn"'))
    code, _, error = fedward("run", "experiment.toml", monkeypatch=monkeypatch, capsys=capsys)
    assert code == 2
    assert "weights weights/digits.pt must be those of digits_cnn, got those of mlp" in error
    assert not (folder / "runs").exists()


def test_files_beside_the_weights_are_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / ".env.local").write_text("SECRET=1")
    code, _, _ = fedward("pretrain", "digits.toml", "--out", "env", monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    assert (folder / ".env.local").read_text() == "SECRET=1"


def test_a_second_process_is_told_that_the_file_is_in_use(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both wrote the same file, each over the other's epochs."""
    (folder / "long.toml").write_text(FILE.replace("epochs = 2", "epochs = 100000"))
    ask = ("pretrain", "long.toml", "--out", "mine.pt")
    here = os.environ | {"PYTHONPATH": str(Path(package.__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-m", "fedward", *ask], cwd=folder, env=here, stdout=subprocess.DEVNULL
    ) as first:
        try:
            until((folder / "mine.pt").exists)
            code, _, error = fedward(*ask, "--set", "epochs=1", monkeypatch=monkeypatch, capsys=capsys)
        finally:
            first.kill()
    assert code == 2
    assert "mine.pt is in use by another process" in error
    assert "Traceback" not in error
    # The lock is gone with the process that had it.
    code, _, error = fedward(*ask, "--set", "epochs=1", monkeypatch=monkeypatch, capsys=capsys)
    assert "in use" not in error
