from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from command_line import output_of
from fedward.base.validate import InvalidValue
from fedward.certificates.planning import NO_ACCURACY
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.tally import Tally
from fedward.commands.plan_command import plan_command

app = typer.Typer()
app.command()(plan_command)
run = partial(output_of, app)

GRID = ["--noise-multiplier", "1", "--noise-multiplier", "4", "--sampling-rate", "0.1", "--rounds", "3"]
GOAL = ["--users", "200", "--k", "10"]


def test_json_holds_every_option_and_says_that_accuracy_is_not_predicted() -> None:
    answer = json.loads(run(*GOAL, *GRID, "--top", "0.8", "--delta", "0.001", "--json"))
    (option,) = answer["options"]
    assert (option["noise_multiplier"], option["sampling_rate"], option["rounds"]) == (4.0, 0.1, 3)
    assert 0 < option["epsilon"] < 0.1
    about = option["guarantee"]
    assert about["epsilon"] == option["epsilon"]
    assert (about["delta"], about["unit"], about["adjacency"]) == (0.001, "user", "add/remove")
    assert (about["accountant"], about["rounds"], about["noise_source"]) == ("pld", 3, None)
    assert (answer["tried"], answer["predicts_accuracy"], answer["note"]) == (2, False, NO_ACCURACY)


def test_a_person_gets_a_table_and_the_warning() -> None:
    out = run(*GOAL, *GRID, "--top", "0.8")
    assert "k = 10 (inject) of 200 users, at confidence 0.8 against 0.2" in out
    assert "noise z" in out
    assert NO_ACCURACY in out.replace("\n", " ")


def test_every_epsilon_says_what_it_is_about() -> None:
    out = " ".join(run(*GOAL, *GRID, "--top", "0.8", "--delta", "0.001", "--epsilon", "2").split())
    assert "within ε = 2 at δ = 0.001 (user level, add/remove, pld accountant)" in out
    assert "ε of one training at δ = 0.001 (user level, add/remove, pld accountant)" in out


def test_nothing_found_is_said() -> None:
    out = run("--users", "200", "--k", "150", *GRID, "--top", "0.8")
    assert "nothing on this grid certifies it" in out
    assert json.loads(run("--users", "200", "--k", "150", *GRID, "--top", "0.8", "--json"))["options"] == []


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_picture_is_drawn(tmp_path: Path, kind: str) -> None:
    files = [tmp_path / f"{name}.{kind}" for name in "ab"]
    for file in files:
        run(*GOAL, *GRID, "--top", "0.8", "--picture", str(file))
    assert files[0].read_bytes()[:4] in (b"\x89PNG", b"<?xm")
    if kind == "svg":
        assert "does not predict accuracy" in files[0].read_text(encoding="utf8")
    else:
        assert files[0].read_bytes() == files[1].read_bytes()


def test_the_confidences_of_a_finished_run_take_the_place_of_one(tmp_path: Path) -> None:
    scores = np.random.default_rng(0).dirichlet([30, 2, 1], (60, 5))
    file = tmp_path / "scores.npz"
    options = [*GOAL, *GRID, "--confidences", str(file), "--share", "0.8", "--json"]
    file.write_bytes(
        Replicas(scores=scores, numbers=np.arange(60), seed=1, labels=np.array([0, 0, 0, 0, 1])).to_bytes()
    )
    answer = json.loads(run(*options))
    assert "for 80% of 5 test examples" in answer["goal"]
    assert len(answer["options"]) == 1
    # Wrong ones do not count as certified, whatever their confidence.
    file.write_bytes(
        Replicas(scores=scores, numbers=np.arange(60), seed=1, labels=np.array([0, 0, 0, 1, 1])).to_bytes()
    )
    with pytest.raises(InvalidValue, match="within reach without attackers"):
        run(*options)


def test_the_votes_of_a_finished_run_do_too(tmp_path: Path) -> None:
    file = tmp_path / "certificate-scores.npz"
    options = [*GOAL, *GRID, "--confidences", str(file), "--share", "0.5"]
    file.write_bytes(Tally(counts=np.array([[590, 10], [300, 300]]), replicas=600, seed=1).to_bytes())
    answer = json.loads(run(*options, "--json"))
    assert "for 50% of 2 test examples at their stored scores" in answer["goal"]
    assert [option["noise_multiplier"] for option in answer["options"]] == [4.0]
    with pytest.raises(InvalidValue, match="method must be clopper_pearson for a tally of votes"):
        run(*options, "--method", "betting")


@pytest.mark.parametrize("kind", ["text", "array", "objects", "block"])
def test_other_files_are_told_from_stored_scores(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "x.npz"
    if kind == "text":
        file.write_text("[data]")
    elif kind == "array":
        with file.open("wb") as out:
            np.save(out, np.zeros(3))
    elif kind == "objects":
        np.savez(file, scores=np.array([None]), allow_pickle=True)
    else:
        arrays: dict[str, Any] = {"all/scores": np.zeros((1, 1, 2))}
        np.savez(file, **arrays)
    with pytest.raises(InvalidValue, match=r"--confidences must be a certificate-scores\.npz") as told:
        run(*GOAL, *GRID, "--confidences", str(file))
    assert "pickle" not in str(told.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top", "0.5"], "--top must be above 0.5 where --runner-up is not given.*got 0.5"),
        (["--top", "0.2", "--runner-up", "0.3"], "above that of the runner-up, got 0.2 and 0.3"),
        ([], "give either --top, or --confidences"),
        (["--top", "0.8", "--confidences", "x.npz"], "give either --top, or --confidences"),
        (["--confidences", "x.npz", "--runner-up", "0.1"], "--runner-up belongs to --top"),
        (["--top", "0.8", "--picture", "plan.jpeg"], "picture must end in .png, .svg, .pdf, got 'plan.jpeg'"),
        (["--top", "0.8", "--picture", "no/such/plan.png"], "directory that exists"),
        (["--top", "0.8", "--epsilon", "1"], "delta must be given together with epsilon"),
        (["--top", "0.8", "--threat", "infect"], "did you mean 'inject'?"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        run(*GOAL, *GRID, *options)
