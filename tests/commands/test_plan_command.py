from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import typer

from command_line import output_of
from fedward.base.validate import InvalidValue
from fedward.commands.plan_command import plan_command

app = typer.Typer()
app.command()(plan_command)
run = partial(output_of, app)

GOAL = ["--users", "200", "--k", "3", "--epsilon", "2"]
GRID = ["--sampling-rate", "0.1", "--sampling-rate", "1", "--rounds", "1", "--rounds", "3"]
PILOT = """
seed = 1
rounds = 1

[data]
name = "synthetic"
users = 200
examples = 10
features = 6
classes = 3
test_examples = 60

[model]
name = "logistic_regression"

[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 1.0
sampler = { name = "everyone" }
local = { name = "sgd", learning_rate = 1.0, batch_size = 10, epochs = 3 }

[privacy]
users = 200
"""


def test_the_answer_comes_first_then_why_then_the_table() -> None:
    out = run(*GOAL, *GRID)
    flat = " ".join(out.split())
    assert "k = 3 (inject) of 200 users, within ε = 2 at δ = 0.00294353 (user level, add/remove, pld" in flat
    parts = ("Take noise multiplier z = ", "One training spends ε = ", "Why: ", "fedward certify FILE")
    places = [flat.index(words) for words in parts]
    assert places == sorted(places)
    assert "With M = " in flat
    assert "Accuracy is unknown" in flat
    assert out.index("vote needed") > out.index("Why")


def test_json_has_the_same_and_all_of_the_frontier() -> None:
    answer = json.loads(run(*GOAL, *GRID, "--json"))
    found = answer["recommendation"]
    assert found["epsilon"] <= 2.0
    assert found["guarantee"]["delta"] == pytest.approx(200**-1.1)
    assert found["replicas"] >= found["least_replicas"]
    assert found["ceiling"] >= 3
    assert found["known_by"] == "unknown"
    assert len(answer["frontier"]) == answer["tried"] == 4
    assert answer["predicts_accuracy"] is False
    assert answer["picture"] is None
    assert found["command"].startswith("fedward certify FILE --set rounds=")


def test_an_expected_vote_can_be_assumed() -> None:
    sure, unsure = (
        json.loads(run("--users", "200", "--k", "3", *GRID, "--top", top, "--json"))["frontier"]
        for top in ("0.99", "0.7")
    )
    for one, other in zip(sure, unsure, strict=True):
        assert one["noise_multiplier"] <= other["noise_multiplier"]
        assert one["known_by"] == "assumed"


def test_an_experiment_file_is_trained_and_named_in_the_command(tmp_path: Path) -> None:
    file = tmp_path / "pilot.toml"
    file.write_text(PILOT, encoding="utf8")
    options = ["--k", "1", "--epsilon", "3", *GRID, "--pilot", str(file), "--seconds", "1e6"]
    told = run(*options, "--picture", str(tmp_path / "plan.png"))
    flat = " ".join(told.split())
    assert "k = 1 (inject) of 200 users" in flat
    assert "of the test examples right and certified against k = 1" in flat
    assert "clip bound S = 1" in flat
    assert "Pilot trainings are covered by no ε" in flat
    assert (tmp_path / "plan.png").read_bytes()[:4] == b"\x89PNG"
    assert f"fedward certify {file}" in told.replace("\n", "")


def test_nothing_found_is_said() -> None:
    out = run("--users", "200", "--k", "90000", "--top", "0.51", "--sampling-rate", "1", "--rounds", "1")
    assert "Nothing of the 1 pairs of rounds and sampling rate" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--users", "200", "--k", "3", "--top", "0.5"], "top must be above 0.5 and below 1, got 0.5"),
        (["--k", "3"], "users must be given where there is no pilot"),
        (
            ["--users", "200", "--k", "3", "--picture", "plan.jpeg"],
            r"picture must end in \.png, \.pdf, \.svg",
        ),
        (["--users", "200", "--k", "3", "--picture", "no/such/plan.png"], "directory that exists"),
        (["--users", "200", "--k", "3", "--threat", "infect"], "did you mean 'inject'?"),
        (["--k", "3", "--pilot", "no-such.toml"], "no-such.toml"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        run(*options)
