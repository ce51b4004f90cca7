"""A directory is of one run, or of one sweep, and of nothing else besides."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from command_line import answer
from fedward.base.validate import InvalidValue
from fedward.config.file_content import read_content
from fedward.config.sweep_section import Sweep, read_sweep
from fedward.rundir.place import SWEPT, kind_of, require_run
from fedward.rundir.store import RunDirectory
from fedward.studies.sweep.sweep_study import begin_sweep, check_place, plan_sweep
from tiny_experiment import TEXT

SWEEP = "[sweep]\nalgorithm.noise_multiplier = [1.0, 2.0]\n"
MANY = ["--replicas", 2, "--workers", 0]
MEMBERSHIP = ["--shadows", 4, "--workers", 0]


@pytest.fixture
def fedward(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    one = TEXT.replace("rounds = 2", "rounds = 1")
    Path("one.toml").write_text(one, encoding="utf8")
    Path("many.toml").write_text(one + SWEEP, encoding="utf8")
    return partial(answer, monkeypatch=monkeypatch, capsys=capsys)


def files(path: Path) -> dict[str, bytes]:
    return {
        str(each.relative_to(path)): each.read_bytes()
        for each in path.rglob("*")
        if each.is_file() and each.name != ".lock"
    }


def wanted(*changes: str) -> Sweep:
    return read_sweep(read_content(Path("many.toml"), list(changes)))


@pytest.mark.parametrize(
    ("command", "options", "kind"),
    [
        (["run"], ["--workers", 0], "a run"),
        (["replicas"], MANY, "many replicas"),
        (["infer", "membership"], MEMBERSHIP, "an inference attack"),
    ],
)
def test_a_sweep_is_kept_out_of_the_directory_of_a_run(
    fedward: Any, command: list[str], options: list[object], kind: str
) -> None:
    assert fedward(*command, "one.toml", "--out", "place", *options).code == 0
    before = files(Path("place"))
    refused = fedward("sweep", "many.toml", "--out", "place", "--workers", 0)
    assert refused.code == 2
    assert refused.out == ""  # nothing was begun
    assert f"place must be empty or of this sweep, got the directory of {kind}; " in refused.err
    assert files(Path("place")) == before
    assert kind_of(Path("place")) == kind


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["run"], ["--workers", 0]),
        (["replicas"], MANY),
        (["certify"], MANY),
        (["infer", "membership"], MEMBERSHIP),
        (["infer", "property"], ["--property", "label:3", "--set", "rounds=20", "--workers", 0]),
    ],
)
def test_a_run_is_kept_out_of_the_directory_of_a_sweep(
    fedward: Any, command: list[str], options: list[object]
) -> None:
    """As soon as the sweep has begun: before its first training has."""
    Path("place").mkdir()
    begin_sweep(Path("place"), wanted())
    before = files(Path("place"))
    assert SWEPT in before
    refused = fedward(*command, "one.toml", "--out", "place", *options)
    assert refused.code == 2
    assert "place must be empty or of this run, got the directory of a sweep; " in refused.err
    assert files(Path("place")) == before


def test_a_sweep_is_known_before_it_trains(fedward: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fedward.studies.sweep.sweep_study.SweepStudy.steps", killed)
        assert fedward("sweep", "many.toml", "--out", "place").code == 130
    assert kind_of(Path("place")) == "a sweep"
    assert fedward("run", "one.toml", "--out", "place").code == 2
    assert fedward("sweep", "many.toml", "--out", "place", "--workers", 0).code == 0


def test_a_sweep_of_an_earlier_fedward_is_known_and_goes_on(fedward: Any) -> None:
    place = Path("place")
    sweep = wanted()
    steps = plan_sweep(sweep).steps(RunDirectory(place))
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert not (place / SWEPT).exists()
    assert "got the directory of a sweep" in fedward("run", "one.toml", "--out", "place").err
    assert fedward("sweep", "many.toml", "--out", "place", "--workers", 0).code == 0
    (place / SWEPT).unlink()
    assert "got the directory of a sweep" in fedward("run", "one.toml", "--out", "place").err
    assert fedward("sweep", "many.toml", "--out", "place", "--workers", 0).code == 0
    assert (place / SWEPT).is_file()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "sweep={rounds=[1]}",
            "got that of another: it varies algorithm.noise_multiplier there, rounds here",
        ),
        ("sweep={seeds=2}", "it varies algorithm.noise_multiplier there, nothing but seeds here"),
        (
            "algorithm.clip_bound=0.5",
            "got that of another: experiment.algorithm.clip_bound (1.0 there, 0.5 here) differ",
        ),
        ("data.users=12", "experiment.data.users (10 there, 12 here) differ"),
    ],
)
def test_another_sweep_is_refused_even_if_none_of_its_runs_has_been_run(
    fedward: Any, change: str, said: str
) -> None:
    begin_sweep_in("place", wanted())
    other = [
        "--set",
        change,
        *(["--set", "sweep.algorithm.noise_multiplier=[8.0]"] * ("sweep" not in change)),
    ]
    refused = fedward("sweep", "many.toml", "--out", "place", *other)
    assert refused.code == 2
    assert "place must be empty or of this sweep, " in refused.err
    assert said in refused.err
    assert set(files(Path("place"))) == {SWEPT, "digests.jsonl"}


def begin_sweep_in(place: str, sweep: Sweep) -> None:
    Path(place).mkdir()
    begin_sweep(Path(place), sweep)


def test_values_seeds_and_places_of_files_may_change(fedward: Any) -> None:
    begin_sweep_in("place", wanted())
    for change in (
        ["sweep.algorithm.noise_multiplier=[1.0, 4.0]"],
        ["sweep.seeds=[7, 8]"],
        ["seed=9"],
        ["algorithm.noise_multiplier=3.0"],  # the file's own value of a key that varies
    ):
        check_place(Path("place"), wanted(*change))


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"keys": 3, "experiment": {}}'])
def test_a_damaged_mark_is_one_line(fedward: Any, content: str) -> None:
    Path("place").mkdir()
    (Path("place") / SWEPT).write_text(content)
    refused = fedward("sweep", "many.toml", "--out", "place")
    assert refused.code == 2
    assert str(Path("place") / SWEPT) in refused.err


def test_what_is_no_run_is_said_in_words(tmp_path: Path) -> None:
    def why(path: Path) -> str:
        with pytest.raises(InvalidValue, match="must be the directory of a run, got ") as error:
            require_run(path)
        return str(error.value).partition(", got ")[2]

    assert why(tmp_path / "none") == "none: there is no such directory; fedward runs lists those in runs/"
    assert why(tmp_path) == "one without run.json; fedward runs lists those in runs/"
    (tmp_path / "sweep.json").write_text("{}")
    assert why(tmp_path) == "that of a sweep: give one of the directories in it"
    assert (
        why(tmp_path / "sweep.json")
        == "a file; give the directory that a command has written, such as runs/NAME"
    )
    (tmp_path / "run.json").write_text("{}")
    require_run(tmp_path)


@pytest.mark.parametrize("content", ["{", "\0", "[]", '{"experiment": 3}'])
def test_a_damaged_run_is_still_a_run(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    assert kind_of(tmp_path) == "a run"


def test_other_directories_are_nothing_special(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "run.json").write_text(json.dumps({}))
    assert kind_of(tmp_path) == kind_of(tmp_path / "none") == ""
