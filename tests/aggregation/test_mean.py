from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from fedward.aggregation import Mean, WeightedMean
from fedward.base.validate import InvalidValue
from fedward.clipping.norms import FlatNorm
from fedward.core.parameters import ParameterSpec
from fedward.core.receive import receive
from fedward.core.round import finish_round, plan_round
from fedward.core.types import Row
from fedward.privacy.events import Adjacency
from fedward.sampling import EveryoneSampler
from support import tiny_algorithm, tiny_federation, tiny_model

BOUND = 0.7
# Directions that add up, cancel, are huge, tiny, zero or not numbers at all.
SENT = [
    torch.tensor([1.0, 0.0]),
    torch.tensor([-1.0, 0.0]),
    torch.tensor([0.0, 1e30]),
    torch.tensor([3e38, -3e38]),
    torch.tensor([1e-40, 1e-45]),
    torch.tensor([0.3, -0.2]),
    torch.zeros(2),
]


def clipped(update: Tensor) -> Tensor:
    norm = FlatNorm()
    return norm.clip(update, norm.measure(update), (BOUND,))


def mean_of(aggregator: Mean, updates: tuple[Tensor, ...]) -> Tensor:
    total = aggregator.init(torch.zeros(2))
    for update in updates:
        total = aggregator.add(total, clipped(update), 1)
    return aggregator.finish(total)


def neighbours(cohort: tuple[Tensor, ...], adjacency: Adjacency) -> list[tuple[Tensor, ...]]:
    if adjacency == "add/remove":
        return [cohort[:i] + cohort[i + 1 :] for i in range(len(cohort))] + [(*cohort, new) for new in SENT]
    return [(*cohort[:i], new, *cohort[i + 1 :]) for i in range(len(cohort)) for new in SENT]


@pytest.mark.parametrize("adjacency", ["add/remove", "replace-one", "local"])
def test_no_neighbouring_cohort_moves_the_mean_beyond_its_sensitivity(adjacency: Adjacency) -> None:
    aggregator = Mean(expected_cohort=2.5)
    declared = aggregator.sensitivity(BOUND, adjacency)
    assert declared is not None
    worst = 0.0
    for size in range(4):
        for cohort in itertools.product(SENT, repeat=size):
            before = mean_of(aggregator, cohort)
            for other in neighbours(cohort, adjacency):
                worst = max(worst, float((mean_of(aggregator, other) - before).norm()))
    assert worst <= declared * (1 + 1e-12)
    # The bound is reached, so a smaller declaration would be wrong.
    assert worst >= declared * (1 - 1e-5)


@pytest.mark.parametrize("adjacency", ["add/remove", "replace-one"])
def test_the_whole_round_keeps_the_declared_sensitivity(adjacency: str) -> None:
    """With the same noise in both worlds, the models differ by what one user can do, and by no more."""
    algorithm = tiny_algorithm(sampler=EveryoneSampler(adjacency=adjacency))  # type: ignore[arg-type]
    federation, model = tiny_federation(), tiny_model()
    state = algorithm.init(ParameterSpec.of(model).flatten(model))
    plan = plan_round(algorithm, state, federation.roster, None, 1)
    state = replace(state, ledger=state.ledger.reserve(0, plan.event))
    generator = torch.Generator().manual_seed(0)
    honest = [torch.randn(state.parameters.shape, generator=generator) for _ in plan.jobs]
    garbage = torch.full_like(state.parameters, float("nan"))

    def model_if_first_sends(update: Tensor | None) -> Tensor:
        rows = [Row(job.user, honest[i] if i else update) for i, job in enumerate(plan.jobs)]
        received = receive(algorithm, state, plan, rows, 1)
        return finish_round(algorithm, state, plan, received, 1)[0].parameters

    declared = algorithm.aggregator.sensitivity(0.7, adjacency)  # type: ignore[arg-type]
    assert declared is not None
    first = torch.full_like(state.parameters, 1e30)
    others = [None, garbage] if adjacency == "add/remove" else [-first, None, honest[1], garbage]
    moves = [float((model_if_first_sends(first) - model_if_first_sends(o)).double().norm()) for o in others]
    assert max(moves) <= declared * (1 + 1e-4)
    assert max(moves) >= declared * (1 - 1e-4)


def test_the_divisor_does_not_move_with_the_cohort() -> None:
    aggregator = Mean(expected_cohort=4)
    one, many = mean_of(aggregator, (SENT[0],)), mean_of(aggregator, (SENT[0],) * 8)
    torch.testing.assert_close(8 * one, many)


def test_an_empty_cohort_has_the_mean_zero() -> None:
    assert torch.equal(mean_of(Mean(expected_cohort=3), ()), torch.zeros(2, dtype=torch.float64))
    assert torch.equal(
        WeightedMean().finish(WeightedMean().init(torch.zeros(2))), torch.zeros(2, dtype=torch.float64)
    )


def test_the_weighted_mean_weighs_by_examples_and_declares_nothing() -> None:
    aggregator = WeightedMean()
    total = aggregator.init(torch.zeros(2))
    total = aggregator.add(total, torch.tensor([1.0, 0.0]), 3)
    total = aggregator.add(total, torch.tensor([0.0, 1.0]), 1)
    torch.testing.assert_close(aggregator.finish(total), torch.tensor([0.75, 0.25], dtype=torch.float64))
    assert aggregator.sensitivity(1.0, "add/remove") is None


@pytest.mark.parametrize("size", [0, -1, float("nan"), float("inf")])
def test_an_expected_cohort_must_be_positive(size: float) -> None:
    with pytest.raises(InvalidValue, match="expected cohort must be positive and finite"):
        Mean(expected_cohort=size)
