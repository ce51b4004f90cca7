from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from dp_accounting import (
    GaussianDpEvent,
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)

from fedward.aggregation import WeightedMean
from fedward.clipping import NoClipping
from fedward.core.validate import InvalidValue
from fedward.presets import fedavg, fedsgd
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from support import tiny_algorithm, tiny_sgd


def test_user_dp_fedavg_declares_the_event_of_its_sampling() -> None:
    poisson = tiny_algorithm(200, sampler=PoissonSampler(rate=0.1), noise_multiplier=3.0)
    assert poisson.round_event(200) == PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
    fixed = tiny_algorithm(200, sampler=FixedSizeSampler(size=20), noise_multiplier=3.0)
    # One user replaced moves the mean by 2S/m: half the multiplier.
    assert fixed.round_event(200) == SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(1.5))
    replaced = tiny_algorithm(200, sampler=EveryoneSampler(adjacency="replace-one"), noise_multiplier=3.0)
    assert replaced.round_event(200) == GaussianDpEvent(1.5)


@pytest.mark.parametrize("sampler", [PoissonSampler(rate=0.1), FixedSizeSampler(size=20)])
def test_noise_is_z_times_the_bound_over_the_cohort(sampler: Any) -> None:
    algorithm = tiny_algorithm(200, sampler=sampler, noise_multiplier=3.0)
    assert algorithm.noise_std(0.7) == pytest.approx(3.0 * 0.7 / 20)


def test_the_divisor_is_declared_and_does_not_move_with_the_federation() -> None:
    algorithm = tiny_algorithm(200, sampler=PoissonSampler(rate=0.1))
    assert algorithm.aggregator.expected_cohort == pytest.approx(20)  # type: ignore[attr-defined]
    # One more user joins: the event is unchanged, and so is the noise.
    assert algorithm.round_event(201) == algorithm.round_event(200)


def test_fixed_size_is_accounted_by_its_own_adjacency() -> None:
    algorithm = tiny_algorithm(200, sampler=FixedSizeSampler(size=20), noise_multiplier=3.0)
    rdp = algorithm.guarantee(200, 3, 0.0029, "rdp")
    assert rdp.epsilon == pytest.approx(0.77, abs=0.005)
    assert rdp.adjacency == "replace-one"
    paper = algorithm.guarantee(200, 3, 0.0029, "moments")
    assert round(paper.epsilon, 4) == 0.2808
    assert "paper" in str(paper)
    with pytest.raises(InvalidValue, match="rdp"):
        algorithm.guarantee(200, 3, 0.0029, "pld")


def test_what_has_no_noise_prints_no_number() -> None:
    for algorithm in (
        fedavg(sampler=PoissonSampler(rate=0.5), local=tiny_sgd()),
        fedsgd(sampler=PoissonSampler(rate=0.5), learning_rate=0.1),
    ):
        assert algorithm.round_event(12) == NonPrivateDpEvent()
        guarantee = algorithm.guarantee(12, 5, 1e-3, "pld")
        assert math.isinf(guarantee.epsilon)
        assert str(guarantee).startswith("no guarantee: no noise is added")
        assert not any(character.isdigit() for character in str(guarantee))


def test_noise_without_a_sensitivity_or_a_bound_cannot_be_composed() -> None:
    algorithm = tiny_algorithm()
    with pytest.raises(InvalidValue, match="aggregator with a sensitivity"):
        replace(algorithm, aggregator=WeightedMean())
    with pytest.raises(InvalidValue, match="noise needs clipped updates"):
        replace(algorithm, policy=NoClipping())


@pytest.mark.parametrize(
    "changes",
    [
        {"num_users": 0},
        {"clip_bound": 0.0},
        {"clip_bound": -1.0},
        {"clip_bound": float("nan")},
        {"clip_bound": float("inf")},
        {"noise_multiplier": 0.0},
        {"noise_multiplier": float("nan")},
        {"noise_multiplier": float("inf")},
        {"sampler": FixedSizeSampler(size=13)},
        {"noise_source": "default"},
    ],
)
def test_impossible_settings_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        tiny_algorithm(**changes)
