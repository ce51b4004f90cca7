"""Correlated noise: its law, its sensitivity over all patterns of participation, and its secret state."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from dp_accounting import GaussianDpEvent, SelfComposedDpEvent
from torch import Tensor

from fedward.base.validate import InvalidValue
from fedward.core.types import Cohorts, Sensitivity
from fedward.mechanisms.banded_noise import BandedNoise
from fedward.mechanisms.banded_strategy import STEPS, Workload
from fedward.privacy.accountants import epsilon_of
from fedward.privacy.participation import Participation
from fedward.sampling.taking_turns import TakingTurns
from fedward.testing import check_mechanism

ROUNDS, SHARE = 9, 0.25


def banded(source: str = "seeded", **changes: object) -> BandedNoise:
    schema = Participation(most=3, separation=3)
    fields = {
        "noise_multiplier": 2.0,
        "workload": Workload(rounds=ROUNDS),
        "bands": 3,
        "participation": schema,
    }
    return BandedNoise(**fields | {"source": source} | changes)  # type: ignore[arg-type]


def strategy_matrix(noise: BandedNoise) -> Tensor:
    rounds, c = noise.workload.rounds, noise.strategy
    rows = [[c[t - s] / STEPS if 0 <= t - s < len(c) else 0.0 for s in range(rounds)] for t in range(rounds)]
    return torch.tensor(rows, dtype=torch.float64)


def released(noise: BandedNoise, means: Tensor, seed: int = 0) -> tuple[Tensor, list[tuple[Tensor, ...]]]:
    """What is released in every round of a training with these means, and all states."""
    state = noise.init(means[0])
    rows, states = [], [state]
    for t, mean in enumerate(means):
        rng = np.random.default_rng([seed, t])
        private, state = noise.privatise(mean, Sensitivity(row=1.0, share=SHARE), state, rng)
        rows.append(private)
        states.append(state)
    return torch.stack(rows), states


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_what_is_released_is_the_mean_and_noise_that_the_strategy_makes_independent(source: str) -> None:
    noise, size = banded(source), 40_000
    grid = noise.grid(1.0)
    units = torch.randint(-50, 50, (ROUNDS, size), generator=torch.Generator().manual_seed(1))
    means = units.double() * grid.spacing * SHARE
    rows, _ = released(noise, means)
    z = strategy_matrix(noise) @ (rows - means) / (noise.multiplier * SHARE)
    # Seven standard errors: the system source has no seed, and must not fail by chance.
    assert z.std(1).tolist() == pytest.approx([1.0] * ROUNDS, rel=7 / math.sqrt(2 * size))
    assert float(z.mean(1).abs().max()) < 7 / math.sqrt(size)
    correlation = z @ z.T / size - torch.eye(ROUNDS)
    assert float(correlation.fill_diagonal_(0).abs().max()) < 7 / math.sqrt(size)
    # In the releases themselves rounds are correlated, or all of this would be for nothing.
    first, second = (rows - means)[:2]
    assert float((first * second).mean() / (first.std() * second.std())) < -0.2


def test_exact_noise_lies_on_a_grid_that_no_sum_can_be_told_from() -> None:
    noise = banded("system")
    grid = noise.grid(1.0)
    means = torch.arange(ROUNDS).double()[:, None].repeat(1, 500) * grid.spacing * SHARE
    rows, _ = released(noise, means)
    mixed = strategy_matrix(noise) @ rows / (grid.spacing * SHARE / STEPS)
    torch.testing.assert_close(mixed, mixed.round(), atol=1e-2, rtol=0)
    assert len(set((mixed.round().long() % 8).flatten().tolist())) == 8


def patterns(schema: Participation, rounds: int) -> list[tuple[int, ...]]:
    """All sets of rounds in which one user may take part."""
    return [
        chosen
        for count in range(1, schema.most + 1)
        for chosen in itertools.combinations(range(rounds), count)
        if all(b - a >= schema.separation for a, b in itertools.pairwise(chosen))
    ]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize(
    ("bands", "separation", "most"), [(1, 1, 9), (2, 2, 4), (3, 3, 3), (2, 4, 3), (4, 4, 2)]
)
def test_no_pattern_of_participation_moves_more_than_is_declared(
    bands: int, separation: int, most: int, momentum: float
) -> None:
    """Brute force: every pattern, and for it the worst clipped rows, which the spectral norm knows."""
    schema = Participation(most=most, separation=separation)
    workload = Workload(rounds=ROUNDS, momentum=momentum)
    noise = banded(bands=bands, participation=schema, workload=workload)
    matrix, declared = strategy_matrix(noise), math.sqrt(most) * math.hypot(*noise.strategy) / STEPS
    worst = 0.0
    for chosen in patterns(schema, ROUNDS):
        columns = matrix[:, list(chosen)]
        # Rows of any direction: the largest of Σ |<C_i, C_j>| over unit vectors is reached in one dimension.
        worst = max(worst, math.sqrt(float((columns.T @ columns).abs().sum())))
    assert worst <= declared * (1 + 1e-12)
    # Reached as far as that many participations have all their bands within the training.
    whole = min(most, (ROUNDS - bands) // separation + 1)
    assert worst >= math.sqrt(whole) * math.hypot(*noise.strategy) / STEPS * (1 - 1e-12)


def test_a_pattern_outside_of_the_schema_does_move_more() -> None:
    """The brute force can fail: two participations next to each other touch the same rows."""
    matrix = strategy_matrix(banded())
    columns = matrix[:, [2, 3, 4]]
    assert math.sqrt(float((columns.T @ columns).sum())) > 1.3 * math.sqrt(3) * float(matrix[:, 0].norm())


def test_its_event_is_one_gaussian_of_the_whole_training() -> None:
    noise = banded()
    cohorts = Cohorts(sampler=TakingTurns(separation=3, most=3), num_users=12)
    assert noise.event(1.0, cohorts) == SelfComposedDpEvent(GaussianDpEvent(2.0), 3)
    whole = epsilon_of([(noise.event(1.0, cohorts), 1)], 1e-5, "pld", "add/remove")
    assert whole == epsilon_of([(GaussianDpEvent(2.0 / math.sqrt(3)), 1)], 1e-5, "pld", "add/remove")
    drawn = Cohorts(sampler=TakingTurns(separation=3, most=3, there=0.5, secret=True), num_users=12)
    assert epsilon_of([(noise.event(1.0, drawn), 1)], 1e-5, "pld", "add/remove") < whole


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_its_state_is_what_later_noise_needs_and_zero_at_the_end(source: str) -> None:
    means = torch.zeros(ROUNDS, 6, dtype=torch.float64)
    _, states = released(banded(source), means)
    shapes = [[tensor.shape for tensor in state] for state in states]
    assert all(each == shapes[0] for each in shapes)
    *secret, done = states[-1]
    assert int(done) == ROUNDS
    assert all(not bool(tensor.any()) for tensor in secret)
    assert bool(states[-2][-2].any())


@pytest.mark.parametrize("source", ["seeded", "system"])
@pytest.mark.parametrize(
    "changes", [{}, {"bands": 1}, {"bands": 2, "workload": Workload(rounds=5, momentum=0.9)}]
)
def test_it_keeps_the_promises_of_a_mechanism(source: str, changes: dict[str, object]) -> None:
    assert check_mechanism(banded(source, **changes))


def test_one_band_is_noise_of_its_own_in_every_round() -> None:
    noise = banded(bands=1)
    means = torch.zeros(ROUNDS, 5, dtype=torch.float64)
    rows, _ = released(noise, means)
    for t, row in enumerate(rows):
        normal = np.random.default_rng([0, t]).standard_normal(5)
        assert row.tolist() == pytest.approx((2.0 * SHARE * normal).tolist())


def test_more_bands_than_lie_between_two_participations_are_refused() -> None:
    with pytest.raises(InvalidValue, match="bands must be at most 3, the rounds between two"):
        banded(bands=4)
    assert replace(banded(), bands=2).multiplier < banded().multiplier
