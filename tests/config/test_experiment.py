from __future__ import annotations

import contextlib
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiny_experiment
from fedward.base.validate import InvalidValue
from fedward.config.experiment import Experiment, from_content, parse, read
from fedward.datasets import DATASETS
from fedward.sampling import FixedSizeSampler, PoissonSampler
from support import tiny_model

TEXT = """
seed = 1
rounds = 3

[data]
name = "digits"
users = 20

[model]
name = "logistic_regression"

[algorithm]
preset = "user_dp_fedavg"
clip_bound = 0.5
noise_multiplier = 1
sampler = { name = "poisson", rate = 0.5 }
local = { name = "sgd", learning_rate = 0.1, batch_size = 10, epochs = 1 }
server = { name = "adam", learning_rate = 0.01 }

[privacy]
delta = 1e-3
budget = 20.0

[evaluation]
every = 2
"""
CONTENT = tomllib.loads(TEXT)


def changed(**changes: Any) -> dict[str, Any]:
    return tiny_experiment.changed(CONTENT, **changes)


def test_a_file_becomes_the_parts_it_names() -> None:
    experiment = parse(TEXT)
    federation = experiment.load_data()
    algorithm = experiment.make_algorithm(federation, tiny_model(64, 10))
    assert federation.num_users == 20
    assert algorithm.sampler == PoissonSampler(rate=0.5)
    assert algorithm.mechanism.multiplier == 1
    assert algorithm.local.epochs == 1  # type: ignore[attr-defined]
    assert algorithm.server.learning_rate == 0.01  # type: ignore[attr-defined]
    assert algorithm.aggregator.expected_cohort == 10  # type: ignore[attr-defined]
    budget = experiment.make_budget(algorithm, federation)
    assert budget is not None
    assert (budget.epsilon, budget.delta, budget.accountant) == (20.0, 1e-3, "pld")


def test_delta_and_accountant_have_stated_defaults() -> None:
    content = changed(
        privacy__delta=None, privacy__budget=None, algorithm__sampler={"name": "fixed_size", "size": 5}
    )
    experiment = from_content(content)
    federation = experiment.load_data()
    algorithm = experiment.make_algorithm(federation, tiny_model(64, 10))
    assert algorithm.sampler == FixedSizeSampler(size=5)
    assert experiment.delta_for(federation) == 0.01
    assert experiment.accountant_for(algorithm) == "rdp"
    assert experiment.make_budget(algorithm, federation) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
        ({"rounds": 2.5}, "rounds must be a whole number, got 2.5"),
        ({"rounds": True}, "rounds must be a whole number"),
        ({"seed": None}, "seed is missing"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"seed": "1"}, "seed must be a whole number, got '1'"),
        ({"round": 3}, "unknown key 'round'; did you mean 'rounds'"),
        (
            {"data__name": "digit"},
            f"data: name must be one of {', '.join(DATASETS)}, got 'digit'; did you mean 'digits'",
        ),
        ({"data__name": None}, "data: the key 'name' is missing; it must be one of cifar10, cifar100"),
        ({"data__user": 3}, "data: unknown key 'user'; did you mean 'users'"),
        ({"data": 3}, "data must be a table, got 3"),
        ({"model__name": "digits_cn"}, "did you mean 'digits_cnn'"),
        ({"algorithm__preset": "user_dp_fedvg"}, "did you mean 'user_dp_fedavg'"),
        ({"algorithm__clip_bound": -1.0}, "algorithm: clip bound must be positive and finite, got -1.0"),
        ({"algorithm__clip_bound": float("nan")}, "clip bound must be positive and finite, got nan"),
        ({"algorithm__clip_bound": float("inf")}, "clip bound must be positive and finite, got inf"),
        ({"algorithm__clip_bound": None}, "algorithm: give either clip_bound or policy"),
        ({"algorithm__noise_multiplier": None}, "algorithm.noise_multiplier is missing"),
        (
            {"algorithm__clip_bound": "big"},
            "algorithm.clip_bound must be a number or a list in brackets, got 'big'",
        ),
        ({"algorithm__noise_multiplier": 0}, "noise multiplier must be positive and finite, got 0"),
        ({"algorithm__noise_multiplier": float("nan")}, "noise multiplier must be positive"),
        (
            {"algorithm__noise_source": "default"},
            "noise_source must be one of 'seeded', 'system', got 'default'",
        ),
        (
            {"algorithm__sampler__rate": 1.5},
            "algorithm.sampler: sampling rate must be above 0 and at most 1, got 1.5",
        ),
        ({"algorithm__sampler__rates": 0.5}, "algorithm.sampler: unknown key 'rates'; did you mean 'rate'"),
        ({"algorithm__sampler__name": "posson"}, "did you mean 'poisson'"),
        ({"algorithm__local__steps": 4}, "algorithm.local: give either epochs or steps"),
        ({"algorithm__local__momentum": 1}, "momentum must be at least 0 and below 1, got 1"),
        ({"algorithm__server__name": "adamw"}, "did you mean 'adam'"),
        ({"privacy__delta": 0.0}, "delta must be above 0 and below 1, got 0"),
        ({"privacy__delta": 1.0}, "delta must be above 0 and below 1"),
        ({"privacy__delta": float("nan")}, "delta must be above 0 and below 1, got nan"),
        ({"privacy__accountant": "pdl"}, "did you mean 'pld'"),
        ({"privacy__budget": -2.0}, "budget must be positive and finite, got -2"),
        ({"privacy__epsilon": 3.0}, "privacy: unknown key 'epsilon'"),
        ({"evaluation__every": 0}, "every must be at least 1, got 0"),
    ],
)
def test_what_is_wrong_is_said_with_key_value_and_what_is_allowed(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue) as error:
        from_content(changed(**changes), "file.toml")
    assert "file.toml is not a valid experiment" in str(error.value)
    assert message in str(error.value)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidValue) as error:
        from_content(changed(rounds=0, privacy__delta=2.0, algorithm__sampler__rate=0.0, data__name="cifar"))
    assert len(str(error.value).splitlines()) == 5


def test_text_that_is_not_toml_is_refused_with_the_place() -> None:
    with pytest.raises(InvalidValue, match=r"not valid TOML.*line 2"):
        parse("seed = 1\nrounds = = 3", "file.toml")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="there is no file"):
        read(tmp_path / "missing.toml")
    with pytest.raises(InvalidValue, match="cannot be read as text"):
        read(tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidValue, match="cannot be read as text"):
        read(binary)


def test_an_experiment_survives_its_own_json() -> None:
    experiment = parse(TEXT)
    assert Experiment.model_validate_json(experiment.model_dump_json()) == experiment


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
values = st.recursive(
    scalars, lambda x: st.lists(x, max_size=2) | st.dictionaries(st.text(max_size=5), x, max_size=2)
)
places = [
    *("x", "seed", "rounds", "data", "model", "algorithm", "privacy", "evaluation", "model__name"),
    *("data__name", "data__users", "data__split", "evaluation__every", "algorithm__preset"),
    *("algorithm__sampler", "algorithm__sampler__rate", "algorithm__local", "algorithm__local__epochs"),
    *("algorithm__server", "privacy__delta", "privacy__accountant", "privacy__budget"),
]


@settings(max_examples=300)
@given(st.sampled_from(places), values)
def test_no_content_gives_anything_but_an_experiment_or_a_clear_error(place: str, value: Any) -> None:
    try:
        content = changed(**{place: value})
    except KeyError:
        return
    # Whatever else is raised fails the test.
    with contextlib.suppress(InvalidValue):
        assert isinstance(from_content(content), Experiment)


def test_the_number_of_users_can_be_declared_apart_from_the_data() -> None:
    experiment = from_content(changed(privacy__users=400, privacy__delta=None))
    federation = experiment.load_data()
    algorithm = experiment.make_algorithm(federation, tiny_model(64, 10))
    assert federation.num_users == 20
    assert algorithm.aggregator.divisor == 200
    assert experiment.delta_for(federation) == pytest.approx(400**-1.1)
    with pytest.raises(InvalidValue, match="users must be at least 1"):
        from_content(changed(privacy__users=0))


def test_a_policy_in_a_file_learns_the_cohort_from_the_sampler() -> None:
    content = changed(algorithm__clip_bound=None)
    content["algorithm"]["policy"] = {"name": "quantile", "initial": 0.1, "quantile": 0.5, "bit_noise": 2.0}
    experiment = from_content(content)
    algorithm = experiment.make_algorithm(experiment.load_data(), tiny_model(64, 10))
    assert algorithm.policy.expected_cohort == 10  # type: ignore[attr-defined]
    content["algorithm"]["policy"]["expected_cohort"] = 3.0
    with pytest.raises(InvalidValue, match="unknown key 'expected_cohort'"):
        from_content(content)


def test_per_layer_clipping_in_a_file_learns_the_layers_from_the_model() -> None:
    content = changed(algorithm__clip="per-layer", algorithm__clip_bound=[0.3, 0.4])
    experiment = from_content(content)
    algorithm = experiment.make_algorithm(experiment.load_data(), tiny_model(64, 10))
    assert algorithm.norm.groups == 2
    assert algorithm.policy.clip_bound == (0.3, 0.4)  # type: ignore[attr-defined]


def test_projected_sgd_in_a_file_is_a_table_in_a_table() -> None:
    content = changed()
    content["algorithm"]["local"] = {"name": "projected_sgd", "sgd": CONTENT["algorithm"]["local"]}
    experiment = from_content(content)
    algorithm = experiment.make_algorithm(experiment.load_data(), tiny_model(64, 10))
    assert algorithm.local.sgd.batch_size == 10  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("".join(f"k{number} = 1\n" for number in range(200_000)), "must be of at most 1 MB"),
        ("a." * 100_000 + "b = 1\n", "keys with more than 200 dots"),
        ("a . " * 50_000 + "b = 1\n", "keys with more than 200 dots"),
        ("a = " + "[" * 100_000, "cannot be read as TOML"),
        ("rounds = " + "9" * 500_000, "cannot be read as TOML"),
    ],
    ids=["keys", "dots", "dots with spaces", "depth", "digits"],
)
def test_files_that_would_take_all_memory_are_refused_in_a_line(
    tmp_path: Path, content: str, says: str
) -> None:
    file = tmp_path / "file.toml"
    file.write_text(content, encoding="utf8")
    with pytest.raises(InvalidValue, match=says) as refused:
        read(file)
    assert len(str(refused.value)) < 1000


def test_a_list_of_many_numbers_with_dots_is_no_key(tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    file.write_text(f"seeds = [{', '.join(['0.5'] * 1000)}]\n{TEXT}", encoding="utf8")
    with pytest.raises(InvalidValue, match="unknown key 'seeds'"):
        read(file)


def test_a_thousand_wrong_keys_are_not_all_named() -> None:
    with pytest.raises(InvalidValue) as refused:
        from_content({f"key{number}": 1 for number in range(1000)}, "file.toml")
    assert "and 980 more" in str(refused.value)
    assert len(str(refused.value)) < 2000
