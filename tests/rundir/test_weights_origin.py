from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import fedward
from fedward.config.experiment import from_content
from fedward.core.digest import data_digest
from fedward.core.parameters import ParameterSpec
from fedward.forecast.forecast import forecast
from fedward.models import build, weights_file
from fedward.models.initial_weights import InitialWeights
from fedward.models.weights_file import About
from fedward.privacy import Guarantee
from fedward.privacy.caveats import add_caveat
from fedward.privacy.ledger_file import verify
from fedward.reports.page import render
from fedward.reports.terminal.forecast_table import record as forecast_record
from fedward.rundir.manifest import Manifest
from fedward.rundir.run_record import RunRecord, load
from fedward.rundir.weights_origin import caveat
from fedward.studies.training.setup import Setup, prepare
from studies.killing import run_to_end
from support import tiny_federation
from tiny_experiment import CONTENT, changed

SAME = "were trained on the same data set, digits: their training spends too, and is not counted"
OTHER = "are not covered: they must come from other, or public, data"


def weights(path: Path, **data: Any) -> Path:
    model = build("logistic_regression", input_shape=(1, 8, 8), num_classes=10, seed=5)
    spec = ParameterSpec.of(model)
    about = About(
        model={"name": "logistic_regression"},
        data=data,
        training={},
        start="s",
        seed=1,
        epochs=1,
        wanted=1,
        versions={"fedward": "1"},
    )
    path.write_bytes(weights_file.to_bytes(about, weights_file.copy_trained(spec, spec.flatten(model))))
    return path


def starting_from(path: Path, **changes: Any) -> Setup:
    return prepare(from_content(changed(CONTENT, model__weights=str(path), **changes)))


def test_a_training_from_its_seed_has_no_caveat() -> None:
    setup = prepare(from_content(CONTENT))
    assert (setup.caveat, setup.planned.caveat) == ("", "")
    assert not any("initial weights" in each for each in forecast(setup, measure=False).cautions)


@pytest.mark.parametrize(("data", "words"), [("digits", SAME), ("mnist", OTHER)])
def test_every_forecast_says_that_initial_weights_are_not_covered(
    data: str, words: str, tmp_path: Path
) -> None:
    """Other users and another digest: it is the same data set all the same."""
    path = weights(tmp_path / "pre.pt", name=data, users=50, digest="d")
    setup = starting_from(path)
    expected = f"the initial weights {path} {words}"
    assert setup.planned.caveat == expected
    assert str(setup.planned).endswith(f"; {expected}")
    found = forecast(setup, measure=False)
    assert expected in found.cautions
    plain = forecast_record(found)
    assert plain["statement"].endswith(expected)
    assert plain["guarantee"]["caveat"] == expected
    assert all(each["caveat"] == expected for each in plain["other_accountants"].values())


def test_a_training_without_a_guarantee_needs_no_caveat(tmp_path: Path) -> None:
    path = weights(tmp_path / "pre.pt", name="digits", digest="d")
    algorithm = {"preset": "fedavg", **{key: CONTENT["algorithm"][key] for key in ("sampler", "local")}}
    setup = starting_from(path, algorithm=algorithm)
    assert str(setup.planned) == "no guarantee: no noise is added"
    assert not any("initial weights" in each for each in forecast(setup, measure=False).cautions)


def test_the_model_of_a_run_on_the_same_data_has_spent_too(tmp_path: Path) -> None:
    run_to_end(prepare(from_content(changed(CONTENT, rounds=1))), tmp_path / "run")
    model = tmp_path / "run" / "model.pt"
    assert starting_from(model).caveat == f"the initial weights {model} {SAME}"
    # Away from its run nobody knows what it was trained on, nor beside a file that says nothing.
    shutil.copy(model, tmp_path / "model.pt")
    assert starting_from(tmp_path / "model.pt").caveat.endswith(OTHER)
    for content in ("{", "[]", '{"experiment": 3, "data": {}}', '{"experiment": {"data": []}}'):
        (tmp_path / "run.json").write_text(content)
        assert starting_from(tmp_path / "model.pt").caveat.endswith(OTHER)


@pytest.mark.usefixtures("edited_by_hand")
def test_whoever_reads_a_run_learns_it(tmp_path: Path) -> None:
    path = weights(tmp_path / "pre.pt", name="digits", digest="d")
    run_to_end(starting_from(path), tmp_path / "run")
    expected = f"the initial weights {path} {SAME}"
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["guarantee"]["caveat"] == expected
    assert result["statement"].endswith(f"; {expected}")
    run = load(tmp_path / "run")
    page = render([run])
    assert f"<li>{expected[0].upper()}{expected[1:]}.</li>" in page
    assert f"<p>This is about what the training itself adds: {expected}.</p>" in page
    # The ledger is checked from its file alone, which knows nothing of weights.
    assert [each.holds for each in verify((tmp_path / "run" / "ledger.json").read_text())] == [True]
    assert isinstance(run, RunRecord)
    (tmp_path / "run" / "result.json").unlink()
    unfinished = load(tmp_path / "run")
    assert isinstance(unfinished, RunRecord)
    assert unfinished.guarantee() == run.guarantee()


def test_whoever_reads_what_is_certified_learns_it(tmp_path: Path) -> None:
    content = changed(CONTENT, model__weights=str(weights(tmp_path / "w.pt", name="mnist")))
    fedward.certify(content, replicas=3, out=tmp_path / "run", quiet=True)
    (found,) = json.loads((tmp_path / "run" / "certified.json").read_text()).values()
    for key in ("guarantee", "papers_guarantee", "releasing_all"):
        assert OTHER in found[key]["caveat"]
    assert OTHER in found["statement"]


def test_other_files_of_one_kind_are_other_data() -> None:
    federation = tiny_federation()
    found = {"name": "table", "file": "a.csv", "digest": "d"}
    about = InitialWeights(file="pre.pt", source="", loaded=(), fresh=(), digest="", data=found)

    def words(data: dict[str, Any], **theirs: Any) -> str:
        section = from_content(CONTENT | {"data": data}).data
        return caveat(replace(about, data=found | theirs), section, federation)

    assert "the same data set, table" in words({"name": "table", "file": "a.csv", "split": "iid", "users": 3})
    assert words({"name": "table", "file": "b.csv"}) == f"the initial weights pre.pt {OTHER}"
    equal = {"digest": data_digest(federation)}
    assert "the same data set, table" in words({"name": "table", "file": "b.csv"}, **equal)
    assert words({"name": "synthetic"}, name="synthetic").endswith(OTHER)
    assert "the same data set, synthetic" in words({"name": "synthetic"}, name="synthetic", **equal)


def test_runs_of_earlier_versions_say_it_in_general() -> None:
    assert Manifest(experiment={}, weights=None).all_caveats == ""
    old = Manifest(experiment={}, weights="starts from pre.pt")
    assert old.all_caveats == f"the initial weights {OTHER}"
    assert Manifest(experiment={}, weights="starts from pre.pt", caveat="x").all_caveats == "x"


def test_a_caveat_is_added_once_and_to_others() -> None:
    one = Guarantee(
        epsilon=1.0,
        delta=0.1,
        unit="user",
        adjacency="add/remove",
        sampling="everyone",
        accountant="rdp",
        noise_source="seeded",
        rounds=1,
        caveat="1 more charged",
    )
    once = add_caveat(one, f"the initial weights a.pt {OTHER}")
    assert once.caveat == f"1 more charged; the initial weights a.pt {OTHER}"
    assert add_caveat(once, f"the initial weights b.pt {SAME}") == once
    assert add_caveat(one, "") == one


def test_a_path_of_two_lines_is_one_line_in_a_guarantee(tmp_path: Path) -> None:
    folder = tmp_path / "a\nb"
    folder.mkdir()
    model = build("logistic_regression", input_shape=(1, 8, 8), num_classes=10, seed=5)
    torch.save(model.state_dict(), folder / "pre.pt")
    assert "a b/pre.pt are not covered" in str(starting_from(folder / "pre.pt").planned)
