from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from dp_accounting import (
    ComposedDpEvent,
    GaussianDpEvent,
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)

from fedward.aggregation import WeightedMean
from fedward.base.validate import InvalidValue
from fedward.clipping import NoClipping
from fedward.core.algorithm import Algorithm
from fedward.presets import (
    adaptive_clipping,
    clip_norm_decay,
    fedavg,
    fedsgd,
    norm_bounding,
    weak_dp,
)
from fedward.privacy import epsilon_of
from fedward.privacy.shares import shares
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from support import tiny_algorithm, tiny_sgd


def test_user_dp_fedavg_declares_the_event_of_its_sampling() -> None:
    poisson = tiny_algorithm(200, sampler=PoissonSampler(rate=0.1), noise_multiplier=3.0)
    assert poisson.round_event(200, 0) == PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
    fixed = tiny_algorithm(200, sampler=FixedSizeSampler(size=20), noise_multiplier=3.0)
    # One user replaced moves the mean by 2S/m: half the multiplier.
    assert fixed.round_event(200, 0) == SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(1.5))
    replaced = tiny_algorithm(200, sampler=EveryoneSampler(adjacency="replace-one"), noise_multiplier=3.0)
    assert replaced.round_event(200, 0) == GaussianDpEvent(1.5)


@pytest.mark.parametrize("sampler", [PoissonSampler(rate=0.1), FixedSizeSampler(size=20)])
def test_noise_is_z_times_the_bound_over_the_cohort(sampler: Any) -> None:
    algorithm = tiny_algorithm(200, sampler=sampler, noise_multiplier=3.0)
    assert algorithm.noise_std(0.7) == pytest.approx(3.0 * 0.7 / 20)


def test_the_divisor_is_declared_and_does_not_move_with_the_federation() -> None:
    algorithm = tiny_algorithm(200, sampler=PoissonSampler(rate=0.1))
    assert algorithm.aggregator.expected_cohort == pytest.approx(20)  # type: ignore[attr-defined]
    # One more user joins: the event is unchanged, and so is the noise.
    assert algorithm.round_event(201, 0) == algorithm.round_event(200, 0)


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
        assert algorithm.round_event(12, 0) == NonPrivateDpEvent()
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


def decaying(**changes: Any) -> Algorithm:
    fields: dict[str, Any] = {
        "num_users": 100,
        "sampler": PoissonSampler(rate=0.2),
        "local": tiny_sgd(),
        "initial_bound": 0.05,
        "decay": 0.99,
    }
    return clip_norm_decay(**(fields | changes))


@pytest.mark.parametrize(("z", "wanted"), [(4.5, 4.13), (4.0, 4.72), (3.5, 5.50), (3.1, 6.35), (2.8, 7.17)])
def test_clip_norm_decay_spends_what_the_paper_prints(z: float, wanted: float) -> None:
    algorithm = decaying(noise_multiplier=z, look_noise=3.5)
    ledger = algorithm.planned_ledger(100, 300)
    parts = shares(ledger, 1e-5, "moments")
    assert parts is not None
    assert round(parts.model.epsilon, 2) == wanted
    assert round(parts.looks.epsilon, 2) == 1.27
    assert parts.as_the_papers_add.endswith("δ = 1e-05 + 1e-05 = 2e-05")
    # Composed together, model and looks cost less than the papers' sum, at half their δ; by pld still less.
    together = ledger.guarantee(1e-5, "moments").epsilon
    assert wanted < together < parts.model.epsilon + parts.looks.epsilon
    assert ledger.guarantee(1e-5, "pld").epsilon < together


def test_a_round_with_a_look_shows_both_shares_and_is_accounted_as_one_folded_gaussian() -> None:
    algorithm = decaying(noise_multiplier=4.0, look_noise=3.0)
    look, plain = algorithm.round_event(100, 0), algorithm.round_event(100, 20)
    assert plain == PoissonSampledDpEvent(0.2, GaussianDpEvent(4.0))
    assert look == PoissonSampledDpEvent(0.2, ComposedDpEvent([GaussianDpEvent(4.0), GaussianDpEvent(3.0)]))
    folded = PoissonSampledDpEvent(0.2, GaussianDpEvent(2.4))
    for accountant in ("moments", "rdp", "pld"):
        assert epsilon_of([(look, 3)], 1e-5, accountant, "add/remove") == pytest.approx(
            epsilon_of([(folded, 3)], 1e-5, accountant, "add/remove"), rel=1e-9
        )


def test_adaptive_clipping_costs_no_more_than_a_fixed_bound_with_the_same_noise() -> None:
    adaptive = adaptive_clipping(
        num_users=100, sampler=PoissonSampler(rate=0.2), local=tiny_sgd(), noise_multiplier=1.3
    )
    fixed = tiny_algorithm(100, sampler=PoissonSampler(rate=0.2), noise_multiplier=1.3)
    assert adaptive.guarantee(100, 50, 1e-5, "pld").epsilon == pytest.approx(
        fixed.guarantee(100, 50, 1e-5, "pld").epsilon, rel=1e-6
    )
    assert adaptive.mechanism.multiplier > 1.3


def test_weak_dp_prints_the_huge_epsilon_that_its_noise_buys() -> None:
    algorithm = weak_dp(
        num_users=100, sampler=PoissonSampler(rate=0.2), local=tiny_sgd(), clip_bound=2.0, noise_std=0.025
    )
    assert algorithm.noise_std(2.0) == pytest.approx(0.025)
    assert algorithm.mechanism.multiplier == pytest.approx(0.25)
    guarantee = algorithm.guarantee(100, 10, 1e-5, "rdp")
    assert guarantee.private
    assert 50 < guarantee.epsilon < math.inf


def test_norm_bounding_bounds_and_guarantees_nothing() -> None:
    algorithm = norm_bounding(
        num_users=100, sampler=PoissonSampler(rate=0.2), local=tiny_sgd(), clip_bound=2.0
    )
    assert str(algorithm.guarantee(100, 10, 1e-5, "pld")) == "no guarantee: no noise is added"
    assert algorithm.noise_std(2.0) == 0.0


def test_looks_are_charged_under_replace_one_as_well() -> None:
    algorithm = decaying(sampler=FixedSizeSampler(size=20), noise_multiplier=4.0, look_noise=3.0)
    inner = algorithm.round_event(100, 0).event
    # A replaced user moves the mean twice as far, and the sum of its clipped norms no further.
    assert inner == ComposedDpEvent([GaussianDpEvent(2.0), GaussianDpEvent(3.0)])
