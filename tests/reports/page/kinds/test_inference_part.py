from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from fedward.attacks.inference import MembershipInference
from fedward.config import experiment as config
from fedward.reports.page import render
from fedward.reports.page.again.reproduce import recipe_of_inference
from fedward.reports.page.kinds.inference_part import inference_charts, inference_part
from fedward.reports.page.kinds.part import Place
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import load
from fedward.studies.inference.membership_study import prepare_membership
from studies.inferred import read


def text_of(page: str) -> str:
    body = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body)).replace("\xa0", " ")


def test_the_page_says_what_was_found_and_what_is_allowed(members: Path) -> None:
    record = read(members)
    text = text_of(render([record]))
    auc = record.attacks[record.best or ""].auc
    assert f"picks the right one {100 * auc.value:.1f} % of the time ({100 * auc.low:.1f} %" in text
    assert "a coin would be right in half of all cases" in text
    assert "Whatever an attacker does, it picks the right one at most" in text
    assert "What one training promises about privacy" in text
    assert "An attack that finds nothing proves nothing" in text
    assert "60 users" in text or "were trained on and" in text
    for name in record.attacks:
        assert name in text


def test_without_noise_nothing_is_promised(watched: Path) -> None:
    text = text_of(render([read(watched)]))
    assert "Nothing limits what some other attack could find: no guarantee" in text
    assert "No privacy guarantee" in text
    assert "most that privacy allows" not in text
    assert "User 0 takes part in the training and watches the model" in text


@pytest.mark.usefixtures("edited_by_hand")
def test_an_attack_that_breaks_the_guarantee_is_said_first(members: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(members, tmp_path / "run"))
    result = json.loads((copy / "result.json").read_text())
    result["crossed"] = {"likelihood ratio": ["AUC"]}
    (copy / "result.json").write_text(json.dumps(result))
    part = inference_part(read(copy), Place(key="run-1", name="run"))
    assert '<section class="promise none">' in part
    said = re.findall(r"<p[^>]*>(.*?)</p>", part)
    verdict = next(place for place, line in enumerate(said) if line.startswith("Shown "))
    assert said[verdict + 1].startswith("likelihood ratio found more than the guarantee allows (AUC)")


def test_the_curves_are_drawn_with_the_limit_and_the_diagonal(members: Path) -> None:
    record = read(members)
    charts = list(inference_charts(record, "run-1"))
    assert len(charts) == 2
    for chart in charts:
        names = [line.name for line in chart.lines]
        assert names == [*record.attacks, "most that privacy allows", "by guessing"]
        lines = {line.name: dict(line.points) for line in chart.lines}
        for rate, most in lines["most that privacy allows"].items():
            assert most >= rate
        assert lines["by guessing"][1.0] == 1.0
        assert "<svg" in chart.svg()
        assert len(chart.table().rows) <= 40
    # Where the limit is read off between the rates that are stored it is not drawn too low.
    assert record.curves.limit is not None
    fpr, tpr = record.curves.limit
    low = {line.name: dict(line.points) for line in charts[1].lines}["most that privacy allows"]
    for rate, most in low.items():
        assert most == next(each for x, each in zip(fpr, tpr, strict=True) if x >= rate * (1 - 1e-9))


@pytest.mark.usefixtures("edited_by_hand")
def test_a_run_without_curves_says_how_to_get_them(members: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(members, tmp_path / "run"))
    (copy / "curves.npz").unlink()
    text = text_of(render([read(copy)]))
    assert "give its command again, and they are added" in text
    (copy / "result.json").unlink()
    text = text_of(render([read(copy)]))
    assert "not finished: 6 trainings so far, and nothing was asked yet" in text
    assert "give its command again" not in text


def test_all_kinds_of_runs_stand_on_one_page(members: Path, watched: Path, private_run: Path) -> None:
    text = text_of(render([load(path) for path in (members, watched, private_run)]))
    assert "membership: AUC" in text
    assert "property: AUC" in text


@pytest.mark.parametrize("declared", [None, 40])
def test_the_recipe_makes_the_same_run_again(declared: int | None, members: Path, tmp_path: Path) -> None:
    """Half of the declared users are in each training: the file must not halve them twice."""
    record = read(members)
    attack = MembershipInference(unit="user", targets=2, shadows=4)
    if declared is not None:
        text = (members.parent / "membership.toml").read_text() + f"users = {declared}\n"
        wanted = prepare_membership(config.parse(text), attack).manifest()
        record = InferenceRecord(path=tmp_path, manifest=wanted, result=record.result)
    recipe = recipe_of_inference(record)
    assert recipe.command.startswith("fedward infer membership ")
    assert "--unit=user --targets=2 --shadows=4" in recipe.command
    ((_, text),) = recipe.files
    again = prepare_membership(config.from_content(tomllib.loads(text)), attack)
    assert again.manifest().experiment == record.manifest.experiment


def test_the_recipe_of_a_property_says_where_its_name_is(watched: Path) -> None:
    recipe = recipe_of_inference(read(watched))
    assert recipe.command.startswith(
        "fedward infer property property.toml --property=WHICH --features=20 --out"
    )
    assert "--property label:3 --users 3" in recipe.typed
