from __future__ import annotations

from pathlib import Path

import pytest

from command_line import answer
from fedward.backends.engines.native import available

EXAMPLES = Path(__file__).parents[2] / "examples"


def shown(*arguments: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    found = answer("show", *arguments, monkeypatch=monkeypatch, capsys=capsys)
    return found.err if found.code else found.out


def test_a_part_is_shown_with_its_documentation_its_place_and_its_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown("quantile", monkeypatch=monkeypatch, capsys=capsys)
    assert "clip policy quantile (algorithm.policy)" in text
    assert "Andrew" in text
    assert "Keys in a file: initial, quantile, bit_noise, learning_rate = 0.2" in text


def test_a_name_of_two_things_shows_both(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown("krum", monkeypatch=monkeypatch, capsys=capsys)
    assert "preset krum" in text
    assert "aggregator krum" in text


def test_a_model_is_shown_with_its_engine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown("mnist_cnn", monkeypatch=monkeypatch, capsys=capsys)
    assert ("native engine" if available() else "generic engine: it was not compiled") in text
    text = shown("mnist_cnn", "--engine", "generic", monkeypatch=monkeypatch, capsys=capsys)
    assert "generic engine: as asked for" in text
    assert "linear" in shown("logistic_regression", monkeypatch=monkeypatch, capsys=capsys)


def test_a_file_is_shown_with_what_it_would_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    text = shown(str(EXAMPLES / "user_dp_digits.toml"), monkeypatch=monkeypatch, capsys=capsys)
    assert "users" in text
    assert "engine" in text
    assert "ε" in text
    assert not list(tmp_path.iterdir())


def test_an_unknown_name_gets_the_nearest_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown("mnist_cn", monkeypatch=monkeypatch, capsys=capsys)
    assert "did you mean 'mnist_cnn'?" in text


def test_an_engine_that_does_not_exist_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown("mnist_cnn", "--engine", "gpu", monkeypatch=monkeypatch, capsys=capsys)
    assert "engine must be one of auto, native, generic, got gpu" in text
