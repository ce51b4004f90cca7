from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command_line import answer
from fedward.config.experiment import read


@pytest.fixture
def new(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    return partial(answer, "new", monkeypatch=monkeypatch, capsys=capsys)


def test_a_file_is_written_and_never_overwritten(new: Any, tmp_path: Path) -> None:
    code, out, _ = new()
    assert code == 0
    assert "wrote experiment.toml: user_dp_fedavg on digits" in out
    assert "fedward run experiment.toml" in out
    text = (tmp_path / "experiment.toml").read_text(encoding="utf8")
    assert "fedward run experiment.toml" in text
    assert read(tmp_path / "experiment.toml").rounds == 30
    code, _, err = new("--preset", "krum")
    assert code == 2
    assert "experiment.toml is there already and is left as it is" in err
    assert (tmp_path / "experiment.toml").read_text(encoding="utf8") == text


def test_a_name_gets_its_ending_and_options_decide_what_is_in_it(new: Any, tmp_path: Path) -> None:
    assert new("mine", "--preset", "median", "--attack", "scale", "--model", "mlp")[0] == 0
    experiment = read(tmp_path / "mine.toml")
    assert (experiment.algorithm.part, experiment.model.part) == ("median", "mlp")
    assert experiment.attack is not None
    assert experiment.attack.model[0].part == "scale"


def test_a_dash_prints_it(new: Any, tmp_path: Path) -> None:
    code, out, _ = new("-", "--preset", "fedavg")
    assert code == 0
    assert 'preset = "fedavg"' in out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "kurm"], "did you mean 'krum'?"),
        (["--data", "digit"], "did you mean 'digits'?"),
        (["--attack", "skip_local_privacy"], "attack: "),
        (["--model", "word_lstm"], "word_lstm"),
        (["."], "the file must have a name, got the directory '.'"),
        ([""], "the file must have a name"),
        (["no/such/folder.toml"], "no/such/folder.toml cannot be written: No such file or directory"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(
    new: Any, tmp_path: Path, arguments: list[str], message: str
) -> None:
    code, out, err = new(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())
