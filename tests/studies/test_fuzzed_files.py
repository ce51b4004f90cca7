"""More than 2,000 files, odd or wrong in some way: a valid experiment or a clear error, nothing else."""

from __future__ import annotations

import contextlib
import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.fuzzed_files import changed_contents, scalars
from config.sound_files import few, sound_contents
from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment, from_content, parse, read
from fedward.config.starter.starter import starter
from fedward.config.toml_text import toml
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.forecast import spending_forecast
from fedward.forecast.forecast import Forecast, forecast
from fedward.rundir.store import open_run
from fedward.studies.training.training_study import prepare
from training_steps import run

TEXT = starter(preset="adaptive_clipping", attack="scale")[0]
_LONGEST = 100_000


def clear(error: Exception, source: str = "") -> None:
    """What a person gets to read: some words, no Python."""
    text = str(error)
    assert source in text
    assert text.strip()
    assert len(text) < _LONGEST
    for inside in ("Traceback", "pydantic", "ValidationError", "<function", "<class", " object at 0x"):
        assert inside not in text


def checked(content: dict[str, Any]) -> Experiment | None:
    try:
        return from_content(content, "file.toml")
    except InvalidValue as error:
        clear(error, "file.toml")
        return None


@settings(max_examples=1400)
@given(changed_contents())
def test_valid_files_with_something_changed(content: dict[str, Any]) -> None:
    before = copy.copy(content)
    checked(content)
    assert content.keys() == before.keys()


@settings(max_examples=300)
@given(st.text(max_size=200) | st.lists(st.sampled_from(TEXT.split("\n")), max_size=30).map("\n".join))
def test_any_text(text: str) -> None:
    with contextlib.suppress(InvalidValue):
        assert isinstance(parse(text, "file.toml"), Experiment)


@settings(max_examples=400)
@given(
    st.integers(0, len(TEXT) - 1),
    st.integers(0, 40),
    st.text(max_size=3)
    | st.sampled_from(["[", "]" * 5, "{", "=", '"', "[" * 3000, "9" * 6000, "\n[", "#", "nan"]),
)
def test_valid_text_with_some_letters_changed(start: int, length: int, put: str) -> None:
    try:
        assert isinstance(parse(TEXT[:start] + put + TEXT[start + length :], "file.toml"), Experiment)
    except InvalidValue as error:
        clear(error, "file.toml")


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.binary(max_size=80))
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.toml"
    path.write_bytes(content)
    with contextlib.suppress(InvalidValue):
        read(path)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.sampled_from(["rounds", "algorithm", "algorithm.local.epochs", "x.y", "attack.data.0.fraction"]),
    scalars,
)
def test_any_value_that_is_set(tmp_path: Path, key: str, value: Any) -> None:
    path = tmp_path / "file.toml"
    path.write_text(TEXT, encoding="utf8")
    try:
        assert isinstance(read(path, [f"{key}={toml(value)}"]), Experiment)
    except InvalidValue as error:
        clear(error)


# From here on every file is made ready, on data so small that this takes no time.

_LOADED: dict[str, Federation] = {}


def loaded(content: dict[str, Any]) -> Federation:
    """The data of a file, once; it is the same for all of them that have the same table."""
    key = repr((content["seed"], content["data"]))
    if key not in _LOADED:
        _LOADED[key] = from_content(content).load_data()
    return _LOADED[key]


@settings(max_examples=250)
@given(sound_contents(), st.none() | few)
def test_files_that_may_fit_together_are_checked_to_the_end(
    content: dict[str, Any], replicas: int | None
) -> None:
    if checked(content) is None:
        return
    try:
        setup = prepare(from_content(content), federation=loaded(content))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spending_forecast, "ACCOUNTANTS", ("rdp", "moments"))
            assert isinstance(forecast(setup, replicas=replicas, measure=False), Forecast)
    except InvalidValue as error:
        clear(error)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(sound_contents(), st.integers(0, 10**9))
def test_files_that_fit_together_run(tmp_path: Path, content: dict[str, Any], number: int) -> None:
    content["rounds"] = min(content["rounds"], 2)
    content.get("attack", {}).pop("rounds", None)
    if checked(content) is None:
        return
    try:
        setup = prepare(from_content(content), federation=loaded(content))
        with open_run(tmp_path / str(number)) as directory:
            for _ in run(setup, directory):
                pass
            assert directory.result() is not None
    except (InvalidValue, TrainingFailed) as error:
        clear(error)
