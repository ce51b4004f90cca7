from __future__ import annotations

import pytest
import torch

import fedward
from fedward import presets
from fedward.aggregation import AllRows, CoordinateMedian, Mean
from fedward.base.validate import InvalidValue
from fedward.clipping import FixedBound
from fedward.mechanisms import GaussianNoise, NoNoise
from fedward.sampling import PoissonSampler
from support import tiny_federation, tiny_model, tiny_sgd

POLICY = FixedBound(clip_bound=0.5)


def test_with_a_mean_and_gaussian_noise_it_is_user_level_dp_to_the_bit() -> None:
    composed = presets.composed(
        sampler=PoissonSampler(rate=0.5),
        local=tiny_sgd(),
        policy=POLICY,
        aggregator=Mean(expected_cohort=6.0),
        mechanism=GaussianNoise(multiplier=1.0),
    )
    known = presets.user_dp_fedavg(
        num_users=12, sampler=PoissonSampler(rate=0.5), local=tiny_sgd(), clip_bound=0.5, noise_multiplier=1.0
    )
    ends = [
        list(fedward.rounds(algorithm, tiny_model(), tiny_federation(), rounds=3, seed=1))[-1][0]
        for algorithm in (composed, known)
    ]
    assert torch.equal(ends[0].parameters, ends[1].parameters)
    assert composed.guarantee(12, 3, 1e-3, "pld") == known.guarantee(12, 3, 1e-3, "pld")


def test_noise_on_an_aggregator_without_a_sensitivity_is_refused() -> None:
    with pytest.raises(InvalidValue, match="noise needs an aggregator with a sensitivity"):
        presets.composed(
            sampler=PoissonSampler(rate=0.5),
            local=tiny_sgd(),
            policy=POLICY,
            aggregator=AllRows(rule=CoordinateMedian()),
            mechanism=GaussianNoise(multiplier=1.0),
        )


def test_without_noise_there_is_no_guarantee() -> None:
    algorithm = presets.composed(
        sampler=PoissonSampler(rate=0.5),
        local=tiny_sgd(),
        policy=POLICY,
        aggregator=Mean(expected_cohort=6.0),
        mechanism=NoNoise(),
    )
    assert algorithm.unproven == "no noise is added"
