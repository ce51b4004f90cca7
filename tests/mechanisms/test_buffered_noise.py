"""Buffered noise: its law beside the dense matrix, its event, its secret state, killed and resumed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from dp_accounting import GaussianDpEvent, SelfComposedDpEvent
from torch import Tensor

from fedward.base.validate import InvalidValue
from fedward.core.types import Cohorts, Sensitivity
from fedward.mechanisms.banded_strategy import Workload
from fedward.mechanisms.buffered_noise import BufferedNoise
from fedward.privacy.participation import Participation
from fedward.sampling.taking_turns import TakingTurns
from fedward.testing import check_mechanism

ROUNDS, SHARE = 9, 0.25


def buffered(**changes: Any) -> BufferedNoise:
    fields: dict[str, Any] = {
        "noise_multiplier": 2.0,
        "workload": Workload(rounds=ROUNDS),
        "participation": Participation(most=3, separation=3),
        "buffers": 2,
    }
    return BufferedNoise(**fields | changes)


def dense(noise: BufferedNoise) -> Tensor:
    c = noise.strategy.coefficients(ROUNDS)
    return torch.tensor([[c[t - s] if t >= s else 0.0 for s in range(ROUNDS)] for t in range(ROUNDS)])


def released(noise: BufferedNoise, means: Tensor) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
    state = noise.init(means[0])
    rows, states = [], [state]
    for t, mean in enumerate(means):
        rng = np.random.default_rng([0, t])
        private, state = noise.privatise(mean, Sensitivity(row=1.0, share=SHARE), state, rng)
        rows.append(private)
        states.append(state)
    return torch.stack(rows), states


@pytest.mark.parametrize("changes", [{}, {"buffers": 1}, {"decays": (0.9, 0.3)}])
def test_it_is_the_inverse_of_the_dense_matrix_on_independent_noise(changes: dict[str, Any]) -> None:
    noise = buffered(**changes)
    means = torch.randn(ROUNDS, 50, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    rows, _ = released(noise, means)
    z = torch.stack(
        [torch.from_numpy(np.random.default_rng([0, t]).standard_normal(50)) for t in range(ROUNDS)]
    )
    wanted = torch.linalg.solve(dense(noise), z * noise.multiplier * SHARE)
    torch.testing.assert_close(rows - means, wanted)


def test_noise_of_the_system_has_the_same_law() -> None:
    noise, size = buffered(source="system"), 40_000
    rows, _ = released(noise, torch.zeros(ROUNDS, size, dtype=torch.float64))
    z = dense(noise) @ rows / (noise.multiplier * SHARE)
    assert z.std(1).tolist() == pytest.approx([1.0] * ROUNDS, rel=7 / math.sqrt(2 * size))
    correlation = z @ z.T / size - torch.eye(ROUNDS)
    assert float(correlation.fill_diagonal_(0).abs().max()) < 7 / math.sqrt(size)


def test_its_event_is_one_gaussian_of_the_whole_training_drawn_or_not() -> None:
    for there, secret in ((1.0, False), (0.5, False), (0.5, True)):
        turns = TakingTurns(separation=3, most=3, there=there, secret=secret)
        event = buffered().event(1.0, Cohorts(sampler=turns, num_users=12))
        assert event == SelfComposedDpEvent(GaussianDpEvent(2.0), 3)


def test_its_multiplier_is_scaled_by_the_worst_participation() -> None:
    noise = buffered()
    taking_part = torch.zeros(ROUNDS, dtype=torch.float64)
    taking_part[::3] = 1.0
    assert noise.multiplier == pytest.approx(2.0 * float((dense(noise) @ taking_part).norm()) / math.sqrt(3))


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_its_state_is_a_vector_for_each_buffer_and_zero_at_the_end(source: str) -> None:
    _, states = released(buffered(source=source), torch.zeros(ROUNDS, 6, dtype=torch.float64))
    assert {tuple(state[0].shape) for state in states} == {(2, 6)}
    assert bool(states[-2][0].any())
    assert not bool(states[-1][0].any())
    assert int(states[-1][1]) == ROUNDS


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_it_keeps_the_promises_of_a_mechanism(source: str) -> None:
    assert check_mechanism(buffered(source=source))


def test_mistakes_are_refused() -> None:
    with pytest.raises(InvalidValue, match="buffers must be at most 6, got 7"):
        buffered(buffers=7)
    with pytest.raises(InvalidValue, match="decays must be as many as buffers, 2, got 1"):
        replace(buffered(), decays=(0.5,))
