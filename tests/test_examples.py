from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import fedward
from fedward.config.arena_section import read_arena
from fedward.config.experiment import parse, read
from fedward.config.file_content import read_content
from fedward.rundir.run_record import RunRecord
from fedward.rundir.store import open_run
from fedward.studies.arena.arena_study import plan_arena
from fedward.studies.training.training_study import prepare
from training_steps import run

ROOT = Path(__file__).parents[1]


def test_the_script_with_own_data_runs_and_learns(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "own_data.py"))
    out = capsys.readouterr().out
    assert float(out.split("accuracy ")[1].split("%")[0]) > 90
    assert "user level, add/remove" in out


@pytest.mark.filterwarnings("ignore")
def test_a_search_says_what_the_choice_of_the_best_costs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna", reason="Optuna is an extra that the tests do not install")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "optuna_search.py"))
    said = capsys.readouterr().out
    found = re.search(r"one training: ε = ([\d.]+); the choice among 8: ε = ([\d.]+),", said)
    assert found is not None
    assert float(found[2]) > 2 * float(found[1])
    runs = [fedward.load(tmp_path / "runs" / "search" / str(number)) for number in range(8)]
    # Only noise of their own makes them compose.
    assert len({run.manifest.experiment["seed"] for run in runs if isinstance(run, RunRecord)}) == 8


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda file: file.name)
def test_every_example_file_is_valid_and_fits_together(file: Path, request: pytest.FixtureRequest) -> None:
    content = read_content(file)
    if "arena" in content:
        content["arena"]["seeds"] = 1
        assert plan_arena(read_arena(content)).chosen
        return
    experiment = read(file)
    if experiment.data.part in ("cifar10", "next_word"):
        return  # reading the file has made every part; to unpack this data takes too long here
    prepare(experiment, request.getfixturevalue("real_mnist") if experiment.data.part == "mnist" else None)


def test_the_backdoor_of_the_example_succeeds_while_accuracy_looks_fine(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "backdoor_digits.toml").read_text(encoding="utf8")
    assert "rounds = 40" in text
    setup = prepare(parse(text.replace("rounds = 40", "rounds = 20")))
    with open_run(tmp_path / "run") as directory:
        for _ in run(setup, directory):
            pass
        records = directory.metrics()
    first, last = records[0], records[-1]
    assert last.accuracy is not None
    assert last.accuracy > 0.85
    assert first.attack_success is not None
    assert first.attack_success < 0.3  # it lags behind accuracy
    assert last.attack_success is not None
    assert last.attack_success > 0.7
