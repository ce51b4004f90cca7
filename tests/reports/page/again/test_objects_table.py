"""Runs of Python programs and of own code on the page: what made them, and how to do them again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import fedward
from fedward import presets
from fedward.api.replicas_api import replicas
from fedward.backends.compute import IN_PROCESS
from fedward.base.validate import InvalidValue
from fedward.config import experiment as config
from fedward.config.file_content import read_content
from fedward.config.made_objects import objects_of
from fedward.config.own_code import import_code
from fedward.reports.page.again.objects_table import objects_table
from fedward.reports.page.again.reproduce import recipe_of_replicas, recipe_of_run
from fedward.reports.page.page import render
from fedward.studies.stored_data import Library
from own_module import own_module
from support import tiny_federation, tiny_model, tiny_sgd

ALGORITHM = presets.user_dp_fedavg(
    num_users=12,
    sampler=fedward.PoissonSampler(rate=0.5),
    local=tiny_sgd(),
    clip_bound=0.5,
    noise_multiplier=1.0,
)
FLIP: dict[str, Any] = {
    "who": {"name": "random", "count": 2},
    "data": [{"name": "label_flip", "source": 1, "target": 0}],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own")


@pytest.fixture(scope="module")
def objects(folder: Path) -> fedward.RunRecord:
    return fedward.train(
        ALGORITHM,
        tiny_model(),
        tiny_federation(),
        rounds=2,
        seed=1,
        attack=FLIP,
        out=folder / "objects",
        compute=IN_PROCESS,
        quiet=True,
    )


@pytest.fixture(scope="module")
def own_code(folder: Path) -> fedward.RunRecord:
    with own_module(folder, "mine_page") as file:
        return fedward.train(
            file, attack=FLIP, out=folder / "code", trust=True, compute=IN_PROCESS, quiet=True
        )


def test_every_object_stands_in_the_table_with_its_fields(objects: fedward.RunRecord) -> None:
    found = {each.key: each for each in objects_of(objects.experiment)}
    assert {"data", "model", "algorithm", "algorithm.sampler", "algorithm.local"} <= set(found)
    assert found["algorithm.sampler"].made_of == "fedward.sampling.poisson:PoissonSampler"
    assert found["algorithm.sampler"].fields == {"rate": 0.5}
    assert "sampler" not in found["algorithm"].fields
    assert objects_table({"data": {"name": "digits"}}) is None


def test_a_run_of_objects_has_a_table_and_no_file(objects: fedward.RunRecord) -> None:
    recipe = recipe_of_run(objects)
    assert (recipe.command, recipe.files) == ("", ())
    assert recipe.objects is not None
    assert "made by a Python program" in recipe.notes[0]
    page = render([objects])
    assert "fedward.sampling.poisson:PoissonSampler" in page
    assert "on data of a Python program" in page
    assert "fedward run" not in page
    assert "the data is not at hand, since a Python program made this run from its own objects" in page


def test_replicas_of_objects_say_the_same(folder: Path) -> None:
    many = replicas(
        ALGORITHM,
        tiny_model(),
        tiny_federation(),
        rounds=2,
        seed=1,
        replicas=2,
        vary={"evaluation.every": [1, 2]},
        out=folder / "many",
        compute=IN_PROCESS,
        quiet=True,
    )
    recipe = recipe_of_replicas(many)
    assert recipe.command == ""
    assert recipe.objects is not None
    assert {row[0].text.rpartition(".")[2] for row in recipe.objects.rows} >= {"data", "model", "sampler"}


def test_a_run_of_own_code_is_repeated_with_trust(folder: Path, own_code: fedward.RunRecord) -> None:
    recipe = recipe_of_run(own_code)
    assert recipe.command == "fedward run code.toml --trust --out runs/code-again"
    ((_, text),) = recipe.files
    with own_module(folder, "mine_page") as file:
        again = folder / "again.toml"
        again.write_text(text)
        parsed = config.from_content(import_code(read_content(again, []), file))
        stored = parsed.model_dump(mode="json")
        assert stored["model"].pop("weights") is None  # which a run leaves out
        assert stored == own_code.experiment
    page = render([own_code])
    assert own_code.manifest.code["mine_page:Net"] in page
    assert "mine_page:HalfMean, mine_page:Net. --trust lets" in page
    assert "mine_page" not in sys.modules


@pytest.mark.parametrize("kind", ["objects", "own_code"])
def test_data_that_only_code_can_make_is_not_at_hand(kind: str, request: pytest.FixtureRequest) -> None:
    run: fedward.RunRecord = request.getfixturevalue(kind)
    with pytest.raises(InvalidValue, match=r"^the data is not at hand, since .*$"):
        Library().load(run.experiment)
