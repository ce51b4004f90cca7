from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.fuzzed_files import CONTENTS, scalars, values
from config.tiny_sweep import CONTENT, sweep_of
from fedward.base.validate import InvalidValue
from fedward.config.sweep_section import Sweep, read_sweep


def test_every_combination_is_an_experiment_with_every_seed() -> None:
    sweep = sweep_of({"seeds": 2, "algorithm.noise_multiplier": [1.0, 2.0], "rounds": [1, 3]})
    assert [axis.key for axis in sweep.axes] == ["algorithm.noise_multiplier", "rounds"]
    assert sweep.seeds == (4, 5)
    assert len(sweep.points) == 8
    last = sweep.points[-1]
    assert (last.combination, last.seed) == ("noise_multiplier=2, rounds=3", 5)
    assert last.directory == "noise_multiplier=2,rounds=3,seed=5"
    assert (last.experiment.seed, last.experiment.rounds) == (5, 3)
    assert last.experiment.algorithm.noise_multiplier == 2.0  # type: ignore[attr-defined]


def test_keys_may_be_quoted_or_not() -> None:
    text = "[sweep]\nseeds = [7]\nalgorithm.sampler.rate = [0.1, 0.2]\n'algorithm.clip_bound' = [1.0]\n"
    sweep = read_sweep({**CONTENT, **tomllib.loads(text)})
    assert [axis.key for axis in sweep.axes] == ["algorithm.sampler.rate", "algorithm.clip_bound"]
    assert sweep.seeds == (7,)


def test_tables_are_merged_and_another_preset_keeps_what_it_knows() -> None:
    sweep = sweep_of(
        {
            "algorithm": [
                {"noise_multiplier": 3.0, "label": "much noise"},
                {"preset": "fedavg"},
                {"preset": "trimmed_mean", "trimmed": 2},
            ]
        }
    )
    tables = [point.experiment.algorithm for point in sweep.points]
    assert [table.part for table in tables] == ["user_dp_fedavg", "fedavg", "trimmed_mean"]
    assert [point.combination for point in sweep.points] == [
        "algorithm=much noise",
        "algorithm=fedavg",
        "algorithm=trimmed_mean",
    ]
    assert tables[0].noise_multiplier == 3.0  # type: ignore[attr-defined]
    assert tables[0].clip_bound == 0.5  # type: ignore[attr-defined]
    assert tables[1].local.model_dump() == tables[0].local.model_dump()  # type: ignore[attr-defined]
    assert tables[2].clip_bound == 0.5  # type: ignore[attr-defined]
    assert not sweep.axes[0].numeric


def test_false_among_tables_takes_the_table_out() -> None:
    attack = {"who": {"name": "random", "count": 2}, "data": [{"name": "label_flip", "target": 0}]}
    sweep = sweep_of({"attack": [False, attack]})
    assert [point.combination for point in sweep.points] == ["attack=none", "attack=count=2 data=label_flip"]
    assert sweep.points[0].experiment.attack is None
    assert sweep.points[1].experiment.attack is not None
    sweep = sweep_of({"attack": [False, {"who": {"name": "random", "count": 3}}]}, attack=attack)
    assert sweep.points[0].experiment.attack is None
    changed = sweep.points[1].experiment.attack
    assert changed is not None
    assert (changed.who.count, changed.data[0].part) == (3, "label_flip")  # type: ignore[attr-defined]


def test_another_part_forgets_what_the_one_before_was_told() -> None:
    samplers = [{"name": "fixed_size", "size": 4}, {"rate": 0.5}]
    sweep = sweep_of({"algorithm.sampler": samplers})
    assert [point.experiment.algorithm.sampler.part for point in sweep.points] == [  # type: ignore[attr-defined]
        "fixed_size",
        "poisson",
    ]


@pytest.mark.parametrize(
    ("table", "messages"),
    [
        ({}, ["file.toml must have a table [sweep] with seeds, or keys and lists of values"]),
        ({"seeds": 0}, ["seeds must be how many from the file's own on", "got 0"]),
        ({"seeds": [1, 1]}, ["seeds must be", "got [1, 1]"]),
        ({"seeds": True}, ["seeds must be"]),
        ({"rounds": 3}, ["rounds must be a list of the values that it takes, got 3"]),
        ({"rounds": []}, ["rounds must be a list"]),
        ({"rounds": [3, 3.0]}, ["values of rounds must differ, got 3 twice"]),
        ({"seed": [1, 2]}, ["seed must be written as seeds = N", "did you mean 'seeds'"]),
        (
            {"rounds": [1], "seeds": 0, "evaluation": {"every": 2}},
            ["seeds must be", "evaluation.every must be a list"],
        ),
        (
            {"algorithm.noise_multplier": [1.0, 2.0]},
            ["unknown key 'noise_multplier'; did you mean 'noise_multiplier'"],
        ),
        ({"rounds": [1, 0, -1]}, ["rounds must be at least 1, got 0 (with rounds=0)", "got -1"]),
        ({"algorithm": [{"preset": "kurm"}]}, ["did you mean 'krum'", "(with algorithm=kurm)"]),
        ({"algorithm": [{"preset": "krum"}]}, ["algorithm.malicious is missing"]),
        ({"algorithm": [{"label": 3}]}, ["label of algorithm must be text, got 3"]),
        ({"rounds.x": [1]}, ["rounds.x cannot be set: x is not in a table"]),
        ({"seeds": 5000, "rounds": [1, 2, 3]}, ["at most 10,000 trainings, got 15,000"]),
    ],
)
def test_what_is_wrong_is_said_with_file_key_and_value(table: dict[str, Any], messages: list[str]) -> None:
    with pytest.raises(InvalidValue) as error:
        sweep_of(table)
    assert "file.toml" in str(error.value)
    for message in messages:
        assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "got"),
    [
        ({}, "got none; add it, or run the one experiment with fedward run"),
        ({"swep": {"seeds": 2}}, "got none, but 'swep'; did you mean 'sweep'?"),
        ({"sweep": {}}, "got {}"),
        ({"sweep": "none"}, "got 'none'"),
    ],
)
def test_a_file_without_a_sweep_is_told_what_it_has(content: dict[str, Any], got: str) -> None:
    with pytest.raises(InvalidValue) as error:
        read_sweep(content, "file.toml")
    assert str(error.value) == (
        f"file.toml must have a table [sweep] with seeds, or keys and lists of values, {got}"
    )


def test_what_is_wrong_with_all_is_said_once() -> None:
    with pytest.raises(InvalidValue) as error:
        sweep_of({"rounds": [1, 2, 3, 4], "seeds": 5}, model={"name": "mpl"})
    assert str(error.value).count("did you mean 'mlp'") == 1


@settings(max_examples=200)
@given(
    st.sampled_from(CONTENTS),
    st.dictionaries(
        st.sampled_from(["seeds", "rounds", "algorithm", "attack", "algorithm.local.epochs", "data", "x.y"])
        | st.text(max_size=6),
        st.lists(values, max_size=3) | scalars | values,
        max_size=3,
    ),
)
def test_any_sweep_is_valid_or_a_clear_error(content: dict[str, Any], table: dict[str, Any]) -> None:
    try:
        assert isinstance(read_sweep({**content, "sweep": table}, "file.toml"), Sweep)
    except InvalidValue as error:
        assert "file.toml" in str(error)  # noqa: PT017
