from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import fedward
from fedward import presets
from fedward.base.validate import InvalidValue
from fedward.clipping import FixedBound, NoClipping
from fedward.config.experiment import parse
from fedward.core.algorithm import Algorithm
from fedward.core.check import check_setup
from fedward.core.parameters import ParameterSpec
from fedward.core.types import ServerState
from fedward.mechanisms import GaussianNoise
from fedward.models import build
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from fedward.server import ServerStep
from support import Tamperer, one_round, tiny_federation, tiny_model, tiny_sgd

FEDERATION = tiny_federation()
MODEL = tiny_model()
SIZE = ParameterSpec.of(MODEL).size

# The arguments of each rule, and the fewest rows that it can do with.
RULES: dict[str, tuple[dict[str, Any], int]] = {
    "krum": ({"malicious": 4}, 11),
    "multi_krum": ({"malicious": 1, "selected": 11}, 11),
    "median": ({}, 1),
    "trimmed_mean": ({"trimmed": 5}, 11),
    "geometric_median": ({}, 1),
    "bulyan": ({"malicious": 2}, 11),
}


def make(name: str, **changes: Any) -> Algorithm:
    arguments = {"sampler": EveryoneSampler(), "local": tiny_sgd(), **RULES[name][0]}
    return presets.PRESETS[name](**(arguments | changes))


def start(algorithm: Algorithm) -> ServerState:
    return algorithm.init(ParameterSpec.of(MODEL).flatten(MODEL))


def updates() -> list[Tensor]:
    return list(torch.randn(12, SIZE, generator=torch.Generator().manual_seed(0)))


def combined(algorithm: Algorithm, rows: list[Tensor]) -> Tensor:
    total = algorithm.aggregator.init(rows[0])
    for row in rows:
        total = algorithm.aggregator.add(total, row, 1)
    return algorithm.aggregator.finish(total)


@pytest.mark.parametrize("name", RULES)
def test_it_promises_no_privacy_and_prints_no_number(name: str) -> None:
    for clip_bound in (None, 0.5):
        guarantee = make(name, clip_bound=clip_bound).guarantee(12, 5, 1e-3, "pld")
        assert str(guarantee) == "no guarantee: no noise is added"
        assert not guarantee.private


@pytest.mark.parametrize("name", RULES)
def test_noise_cannot_be_put_on_top(name: str) -> None:
    algorithm = make(name, clip_bound=0.5)
    with pytest.raises(InvalidValue, match="noise needs an aggregator with a sensitivity"):
        Algorithm(**(vars(algorithm) | {"mechanism": GaussianNoise(multiplier=1.0)}))


@pytest.mark.parametrize("name", RULES)
def test_updates_are_clipped_only_if_a_bound_is_given(name: str) -> None:
    assert make(name).policy == NoClipping()
    assert make(name, clip_bound=0.5).policy == FixedBound(clip_bound=0.5)
    assert make(name, server=ServerStep(learning_rate=0.5)).server == ServerStep(learning_rate=0.5)
    with pytest.raises(InvalidValue, match="clip bound must be positive and finite, got 0"):
        make(name, clip_bound=0.0)


@pytest.mark.parametrize("name", RULES)
def test_a_user_that_dropped_out_or_sent_rubbish_is_not_a_row(name: str) -> None:
    algorithm, sent = make(name), updates()
    rubbish = torch.full((SIZE,), float("nan"))
    wanted = start(algorithm).parameters + combined(algorithm, sent[:3] + sent[4:])
    for missing in (None, rubbish):
        rows = [*sent[:3], missing, *sent[4:]]
        state, log, _ = one_round(algorithm, start(algorithm), FEDERATION, rows.__getitem__)
        torch.testing.assert_close(state.parameters, wanted.float())
        assert log.kept == ""


@pytest.mark.parametrize("name", RULES)
def test_a_round_with_too_few_rows_keeps_the_model_and_says_why(name: str) -> None:
    algorithm, least = make(name), RULES[name][1]
    sent = updates()
    state, log, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: sent[u] if u < least - 1 else None
    )
    assert torch.equal(state.parameters, start(algorithm).parameters)
    assert log.kept == f"{algorithm.aggregator} needs at least {least} rows, got {least - 1}"
    assert state.round == 1
    # One row more, and it moves.
    state, log, _ = one_round(
        algorithm, start(algorithm), FEDERATION, lambda u: sent[u] if u < least else None
    )
    assert not torch.equal(state.parameters, start(algorithm).parameters)
    assert log.kept == ""


@pytest.mark.parametrize("name", [name for name, (_, least) in RULES.items() if least > 1])
def test_too_small_an_expected_cohort_is_refused_before_training_with_the_numbers(name: str) -> None:
    least = RULES[name][1]
    algorithm = make(name, sampler=FixedSizeSampler(size=least - 1))
    wanted = f"needs cohorts of at least {least} users, but .* of 12 users is expected to give {least - 1}"
    with pytest.raises(InvalidValue, match=wanted):
        check_setup(algorithm, MODEL, FEDERATION.roster)
    with pytest.raises(InvalidValue, match=wanted):
        fedward.rounds(algorithm, MODEL, FEDERATION, rounds=1, seed=1)
    with pytest.raises(InvalidValue, match="is expected to give 6"):
        check_setup(make(name, sampler=PoissonSampler(rate=0.5)), MODEL, FEDERATION.roster)
    check_setup(make(name, sampler=FixedSizeSampler(size=least)), MODEL, FEDERATION.roster)


@pytest.mark.parametrize("name", RULES)
def test_two_attackers_that_send_huge_updates_do_not_carry_the_model_away(name: str) -> None:
    changes = {"malicious": 2, "selected": None} if name == "multi_krum" else {}
    algorithm = make(name, **changes)
    sent = updates()
    adversary = Tamperer({2, 7}, lambda user, update: torch.full((SIZE,), 1e30))
    state, _, _ = one_round(algorithm, start(algorithm), FEDERATION, lambda u: sent[u], adversary=adversary)
    moved = state.parameters - start(algorithm).parameters
    assert float(moved.norm()) < 2 * max(float(update.norm()) for update in sent)


FILE = """
seed = 1
rounds = 2
[data]
name = "digits"
users = 20
[model]
name = "logistic_regression"
[algorithm]
preset = "{preset}"
{arguments}
sampler = {{ name = "fixed_size", size = 12 }}
local = {{ name = "sgd", learning_rate = 0.1, batch_size = 20, epochs = 1 }}
"""


def toml(name: str, **arguments: Any) -> str:
    lines = [f"{key} = {value}" for key, value in arguments.items()]
    return FILE.format(preset=name, arguments="\n".join(lines))


@pytest.mark.parametrize("name", RULES)
def test_it_can_be_named_in_an_experiment_file(name: str) -> None:
    experiment = parse(toml(name, **RULES[name][0], clip_bound=2.0))
    found = experiment.make_algorithm(experiment.load_data(), tiny_model(64, 10))
    wanted = make(name, clip_bound=2.0)
    assert found.name == name
    assert found.aggregator == wanted.aggregator
    assert found.policy == wanted.policy


def test_a_file_trains_with_krum() -> None:
    experiment = parse(toml("krum", malicious=4))
    federation = experiment.load_data()
    model = build("logistic_regression", input_shape=(1, 8, 8), num_classes=10, seed=1)
    algorithm = experiment.make_algorithm(federation, model)
    for state, log in fedward.rounds(algorithm, model, federation, rounds=2, seed=1):
        assert log.kept == ""
    assert not torch.equal(state.parameters, ParameterSpec.of(model).flatten(model))


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("krum", {"malicious": -1}, "number of malicious rows must be at least 0, got -1"),
        ("krum", {}, "malicious"),
        ("krum", {"malicious": 1, "malicous": 2}, "did you mean 'malicious'"),
        ("multi_krum", {"malicious": 1, "selected": 0}, "number of selected rows must be at least 1, got 0"),
        ("trimmed_mean", {"trimmed": 0.1}, "trimmed"),
        ("geometric_median", {"tolerance": 0}, "tolerance must be above 0 and below 1, got 0"),
        ("bulyan", {"malicious": -2}, "number of malicious rows must be at least 0, got -2"),
        ("median", {"clip_bound": -1.0}, "clip bound must be positive and finite, got -1"),
    ],
)
def test_a_file_with_impossible_arguments_is_refused_in_words(
    name: str, arguments: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InvalidValue, match=complaint):
        parse(toml(name, **arguments))
