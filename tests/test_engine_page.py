"""What docs/engine.md says is tried out."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from fedward.cli import main

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "engine.md").read_text(encoding="utf8")
PYTHON = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


def test_the_loop_with_workers_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(PYTHON[0], {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["1", "2"]


def test_the_replicas_of_the_page_can_be_trained_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = re.findall(r"^(fedward replicas FILE .*)$", PAGE, flags=re.MULTILINE)[0].split()
    file = tmp_path / "NAME.toml"
    content: dict[str, Any] = tomllib.loads((ROOT / "examples" / "user_dp_digits.toml").read_text())
    assert content["algorithm"]["preset"] == "user_dp_fedavg"
    text = (ROOT / "examples" / "user_dp_digits.toml").read_text()
    text = text.replace("digits_cnn", "logistic_regression").replace("rounds = 30", "rounds = 1")
    file.write_text(text)
    command[2] = str(file)
    command[command.index("1000")] = "2"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    capsys.readouterr()
    exec(PYTHON[1], {})
    assert capsys.readouterr().out == "2 359 10\n"
