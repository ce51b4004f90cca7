"""An empty --out, as of a variable that a shell script forgot to set, is not the current directory."""

from __future__ import annotations

from pathlib import Path

import pytest

import fedward
from command_line import all_commands, answer
from fedward.base.validate import InvalidValue
from fedward.cli import app
from tiny_experiment import CONTENT, TEXT

NEEDED = {"replicas": ["-m", "2"], "infer property": ["--property", "label:3"]}
WITH_OUT = [
    name
    for name, command in all_commands(app)
    if any("--out" in parameter.opts for parameter in command.params)
]


def test_these_commands_have_one() -> None:
    assert {"run", "sweep", "replicas", "certify", "pretrain", "report"} < set(WITH_OUT)
    assert {"infer membership", "infer property"} < set(WITH_OUT)


@pytest.mark.parametrize("name", WITH_OUT)
def test_an_empty_one_is_refused_before_anything_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first.toml").write_text(TEXT, encoding="utf8")
    words = [*name.split(), "first.toml", *NEEDED.get(name, []), "--out", ""]
    code, out, err = answer(*words, monkeypatch=monkeypatch, capsys=capsys)
    assert (code, out) == (2, "")
    assert err == "error: --out must be the path of what is written, got ''\n"
    assert [file.name for file in tmp_path.iterdir()] == ["first.toml"]


@pytest.mark.parametrize("work", [fedward.train, fedward.certify])
def test_python_refuses_it_too(work: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert callable(work)
    with pytest.raises(InvalidValue, match="out must be the path of a directory, got ''"):
        work(CONTENT, out="")
    assert not list(tmp_path.iterdir())
