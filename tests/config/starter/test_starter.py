from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from fedward.attacks import MODEL_POISONINGS, POISONINGS
from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment, from_content, parse
from fedward.config.starter import usual_values as usual
from fedward.config.starter.starter import starter
from fedward.config.toml_text import Line, table, toml
from fedward.core.federation import Federation
from fedward.datasets import DATASETS
from fedward.presets import PRESETS
from fedward.rundir.results import TrainingResult
from fedward.rundir.store import open_run
from fedward.studies.training.training_study import prepare
from training_steps import run

COMMENTED = re.compile(r'# (?:# )?("?)([a-z_.]+)\1 = ')


@pytest.fixture(scope="module")
def loaded() -> dict[int, Federation]:
    """The digits, by the number of users: starters differ in nothing else of their data."""
    return {}


def prepared(experiment: Experiment, loaded: dict[int, Federation]) -> None:
    users = experiment.data.users  # type: ignore[attr-defined]
    if users not in loaded:
        loaded[users] = experiment.load_data()
    prepare(experiment, federation=loaded[users])


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_a_starter_that_fits_together(preset: str, loaded: dict[int, Federation]) -> None:
    text, content = starter(preset=preset)
    experiment = parse(text)
    assert experiment == from_content(content)
    assert experiment.algorithm.part == preset
    prepared(experiment, loaded)
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize("preset", ["fedsgd", "clip_norm_decay", "bulyan", "insdp_fedsgd"])
def test_a_starter_trains(preset: str, tmp_path: Path) -> None:
    text, _ = starter(preset=preset)
    with open_run(tmp_path / "run") as directory:
        for _ in run(prepare(parse(text.replace("rounds = 30", "rounds = 1"))), directory):
            pass
        result = directory.result()
    assert isinstance(result, TrainingResult)
    assert result.rounds == 1


@pytest.mark.parametrize("attack", [*POISONINGS, *MODEL_POISONINGS])
def test_every_attack_has_a_starter(attack: str, loaded: dict[int, Federation]) -> None:
    preset = "insdp_fedavg" if attack == "skip_local_privacy" else "norm_bounding"
    data = "next_word" if attack == "word" else "digits"
    text, content = starter(preset=preset, attack=attack, data=data)
    experiment = parse(text)
    assert experiment == from_content(content)
    assert experiment.attack is not None
    cohort = any(each.needs == "cohort" for each in experiment.attack.build().model)
    assert experiment.attack.knowledge == ("cohort" if cohort else "own")
    assert attack in [part.part for part in (*experiment.attack.data, *experiment.attack.model)]
    if data == "digits":
        prepared(experiment, loaded)


@pytest.mark.parametrize("data", DATASETS)
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_a_starter_for_every_data_set(preset: str, data: str) -> None:
    text, content = starter(preset=preset, data=data)
    experiment = parse(text)
    assert experiment == from_content(content)
    if data == "synthetic":
        prepare(experiment)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("data", ["digits", "table", "next_word"])
def test_what_stands_in_comments_is_known_to_the_file_format(preset: str, data: str) -> None:
    lines = starter(preset=preset, data=data)[0].splitlines()
    tried = 0
    for number, line in enumerate(lines):
        if not COMMENTED.match(line) or "[sweep]" in "".join(lines[max(0, number - 2) : number]):
            continue
        # One key of a table that is a comment altogether needs the others.
        own = {number} | (_attack(lines) if number in _attack(lines) else set())
        text = "\n".join(
            each.removeprefix("# ").removeprefix("# ")
            if n in own and (n == number or "# #" not in each)
            else each
            for n, each in enumerate(lines)
        )
        tried += 1
        try:
            parse(text)
        except InvalidValue as error:
            message = str(error)
            # Two ways to say the same thing exclude each other; what is allowed is no matter of form.
            assert "unknown key" not in message, message
            assert "must be a " not in message, message
            assert "not valid TOML" not in message, message
    assert tried >= 8


def _attack(lines: list[str]) -> set[int]:
    first = lines.index("# [attack]")
    return set(range(first, lines.index("", first)))


@pytest.mark.parametrize("preset", PRESETS)
def test_the_sweep_in_comments_names_keys_that_are_there(preset: str) -> None:
    text = starter(preset=preset)[0]
    sweep = text[text.index("# [sweep]") :]
    content = tomllib.loads("\n".join(line.removeprefix("# ") for line in sweep.splitlines()))
    (key,) = content["sweep"].keys() - {"seeds"}
    value = tomllib.loads(text)
    for name in key.split("."):
        value = value[name]
    assert content["sweep"][key][1] == value


def test_names_that_do_not_exist_get_the_nearest() -> None:
    with pytest.raises(InvalidValue, match="got 'kurm'; did you mean 'krum'"):
        starter(preset="kurm")
    with pytest.raises(InvalidValue, match="did you mean 'mnist'"):
        starter(data="minst")
    with pytest.raises(InvalidValue, match="did you mean 'sign_flip'"):
        starter(attack="sign_flop")
    with pytest.raises(InvalidValue, match="did you mean 'mlp'"):
        starter(model="mpl")


def test_an_algorithm_without_a_guarantee_says_so_in_the_place_of_its_privacy() -> None:
    assert "krum has no guarantee of privacy: no noise is added." in starter(preset="krum")[0]
    assert "budget" not in starter(preset="krum")[0]
    assert "budget" in starter(preset="user_dp_fedavg")[0]


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_without_noise_are_those_without_a_guarantee(preset: str) -> None:
    section = parse(starter(preset=preset)[0]).algorithm
    reason = section.build(**(section.trial or {})).unproven
    assert reason == ("no noise is added" if preset in usual.NO_NOISE else "")


@pytest.mark.parametrize("preset", PRESETS)
def test_a_starter_declares_how_many_users_its_data_has(preset: str) -> None:
    experiment = parse(starter(preset=preset)[0])
    assert experiment.privacy.users == experiment.load_data().num_users


def test_comments_stand_in_one_column_and_long_ones_above() -> None:
    lines = table("t", [Line("a", 1, "short"), Line("long_key", 2.5, "x " * 60), Line("b", True, "y")])
    assert lines[:3] == ["", "[t]", "a = 1           # short"]
    assert lines[-1].index("#") == lines[2].index("#")
    assert lines[3].startswith("# x x")
    assert "long_key = 2.5" in lines
    assert tomllib.loads("\n".join(lines)) == {"t": {"a": 1, "long_key": 2.5, "b": True}}


def test_values_survive_their_text() -> None:
    value = {"a": [1, 2.5, True], "b": {"c": 'quo"te ε', "d": 1e-06}}
    assert tomllib.loads(f"x = {toml(value)}")["x"] == value
