"""``fedward check`` and ``fedward show`` write nothing: not here, not at home, not where data lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import answer
from tiny_experiment import TEXT

MNIST = "--set data.name=mnist --set data.users=4 --set privacy.users=4 --set model.name=mlp"
WORKS = [
    "check exp.toml",
    "check exp.toml --no-calibration -m 20",
    "check exp.toml --data ../data",
    "check sweep.toml --no-calibration",
    f"check exp.toml {MNIST} --data ../data",
    "show exp.toml",
    f"show exp.toml {MNIST} --data ../data",
    "show krum",
    "show mnist_cnn",
]
BY_VARIABLE = [f"check exp.toml {MNIST}", f"show exp.toml {MNIST}"]
WRONG = [f"{command} exp.toml {MNIST}" for command in ("check", "show", "run")]

State = dict[str, tuple[int, bytes | None]]


@pytest.fixture
def place(small_mnist: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three directories: where somebody works, that person's home, and data."""
    data = small_mnist / "data"
    data.mkdir()
    (small_mnist / "MNIST").rename(data / "MNIST")
    for name in ("home", "work"):
        (small_mnist / name).mkdir()
    (small_mnist / "work" / "exp.toml").write_text(TEXT)
    (small_mnist / "work" / "sweep.toml").write_text(f"{TEXT}[sweep]\nseeds = 2\n")
    monkeypatch.chdir(small_mnist / "work")
    for variable in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(small_mnist / "home"))
    monkeypatch.delenv("FEDWARD_DATA", raising=False)
    return small_mnist


def state(folder: Path) -> State:
    """All that lies below a directory: when each was last changed, and what files hold."""
    return {
        str(each.relative_to(folder)): (
            each.stat().st_mtime_ns,
            each.read_bytes() if each.is_file() else None,
        )
        for each in (folder, *folder.rglob("*"))
    }


def code_of(line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> int:
    return answer(*line.split(), monkeypatch=monkeypatch, capsys=capsys).code


@pytest.mark.parametrize("line", WORKS)
def test_an_answer_leaves_all_as_it_was(
    line: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(place)
    assert code_of(line, monkeypatch, capsys) == 0
    assert state(place) == before


@pytest.mark.parametrize("line", BY_VARIABLE)
def test_so_it_does_where_the_variable_names_the_data(
    line: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FEDWARD_DATA", str(place / "data"))
    before = state(place)
    assert code_of(line, monkeypatch, capsys) == 0
    assert state(place) == before


@pytest.mark.parametrize("line", WRONG)
@pytest.mark.parametrize("way", ["option", "variable"])
def test_a_data_directory_that_is_not_there_is_never_made(
    line: str, way: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = place / "home" / "no" / "data"
    if way == "variable":
        monkeypatch.setenv("FEDWARD_DATA", str(wrong))
    before = state(place)
    assert code_of(line if way == "variable" else f"{line} --data {wrong}", monkeypatch, capsys) == 2
    assert state(place) == before


def test_a_run_would_be_seen(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = state(place)
    assert code_of("run exp.toml", monkeypatch, capsys) == 0
    assert state(place) != before
