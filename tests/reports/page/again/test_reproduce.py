from __future__ import annotations

import json
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedward
from fedward.backends.compute import IN_PROCESS
from fedward.config import experiment as config
from fedward.config.toml_text import experiment_text
from fedward.config.vary import Axis, variants
from fedward.reports.page.again.reproduce import recipe_of_replicas, recipe_of_run
from fedward.rundir.run_record import load
from tiny_experiment import CONTENT

ROOT = Path(__file__).parents[4]
PLAIN = st.one_of(
    st.booleans(),
    st.integers(-(2**62), 2**62),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
VALUES = st.recursive(
    PLAIN, lambda inner: st.one_of(st.lists(inner, min_size=1), st.dictionaries(NAMES, inner)), max_leaves=6
)


@given(st.dictionaries(NAMES, VALUES))
def test_any_content_comes_back_from_its_text(content: dict[str, Any]) -> None:
    kept = {key: value for key, value in content.items() if value != {}}
    assert tomllib.loads(experiment_text(content)) == kept


@pytest.mark.parametrize("name", ["backdoor_digits", "insdp_digits", "user_dp_digits", "red_cars"])
def test_the_file_on_the_page_is_the_experiment_that_was_run(name: str) -> None:
    experiment = config.read(ROOT / "examples" / f"{name}.toml")
    stored = json.loads(experiment.model_dump_json())
    assert config.parse(experiment_text(stored)) == experiment


def test_the_command_of_a_run_names_its_file(private_run: Path) -> None:
    run = load(private_run)
    recipe = recipe_of_run(run)  # type: ignore[arg-type]
    ((file, text),) = recipe.files
    assert recipe.command == f"fedward run {file} --out runs/private-again"
    assert config.parse(text) == config.from_content(run.experiment)  # type: ignore[union-attr]


def test_the_command_of_a_certificate_claims_the_same(certified_run: Path) -> None:
    words = shlex.split(recipe_of_replicas(load(certified_run)).command)  # type: ignore[arg-type]
    assert words[:2] == ["fedward", "certify"]
    assert words[words.index("-m") + 1] == "200"
    assert words[words.index("--score") + 1] == "vote"
    assert "--error" not in words


def test_variants_come_back_from_the_command(varied_run: Path) -> None:
    run = load(varied_run)
    recipe = recipe_of_replicas(run)  # type: ignore[arg-type]
    words = shlex.split(recipe.command)
    axis = Axis.parse(words[words.index("--vary") + 1])
    assert (axis.key, axis.values) == ("algorithm.noise_multiplier", (1.5, 2.0))
    ((_, text),) = recipe.files
    found = {name: config.from_content(c) for name, c in variants(tomllib.loads(text), [axis]).items()}
    wanted = {name: config.from_content(c) for name, c in run.experiments.items()}  # type: ignore[union-attr]
    assert found == wanted


def test_a_recipe_says_whether_it_trains_the_same_replicas(tmp_path: Path) -> None:
    """Replicas belong to what is claimed, and ``fedward replicas`` claims nothing."""
    attack = {
        "who": {"name": "random", "count": 1},
        "data": [{"name": "label_flip", "source": 1, "target": 0}],
        "cost_bound": 10.0,
    }
    options: dict[str, Any] = {"replicas": 2, "compute": IN_PROCESS, "quiet": True}
    costs = fedward.certify(CONTENT | {"attack": attack}, attackers=[1], out=tmp_path / "a", **options)
    said = " ".join(recipe_of_replicas(costs).notes)
    assert (
        "fedward certify --attackers, which draws them for what is claimed; this command trains others"
        in said
    )
    predictions = fedward.certify(CONTENT, out=tmp_path / "b", **options)
    assert recipe_of_replicas(predictions).notes == ()
    assert (
        "bound to no claims: this command draws others"
        in recipe_of_replicas(replace(predictions, draw="")).notes[0]
    )
