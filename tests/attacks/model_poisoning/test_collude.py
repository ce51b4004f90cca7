from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedward.attacks.model_poisoning import Collude
from fedward.base.validate import InvalidValue
from fedward.core.types import Sight


def sent(part: Collude, own: Tensor) -> list[Tensor]:
    """What each attacker sends."""
    sight = Sight(round=0, parameters=torch.zeros(own.shape[1]), bounds=(), own=dict(enumerate(own)))
    return [part.tamper(row.clone(), sight, np.random.default_rng(i)) for i, row in enumerate(own)]


def krum(rows: Tensor, attackers: int) -> int:
    """The row whose n - f - 2 nearest neighbours are nearest: the definition, one distance at a time."""
    scores = []
    for i, row in enumerate(rows):
        squares = sorted(float((row - other).pow(2).sum()) for j, other in enumerate(rows) if j != i)
        scores.append(sum(squares[: len(rows) - attackers - 2]))
    return scores.index(min(scores))


COORDINATES = st.lists(st.floats(min_value=-1e3, max_value=1e3, width=32), min_size=4, max_size=4)
OWN = st.lists(COORDINATES, min_size=1, max_size=6)


@given(OWN)
def test_all_attackers_send_the_mean_of_what_they_trained_to_the_last_bit(own: list[list[float]]) -> None:
    rows = sent(Collude(), torch.tensor(own))
    wanted = sum(np.array(own, dtype=np.float32).astype(np.float64)) / len(own)
    assert all(torch.equal(row, rows[0]) for row in rows)
    assert np.allclose(rows[0].numpy(), wanted, rtol=1e-6, atol=1e-9)


@given(OWN, st.floats(min_value=0.0, max_value=0.99))
def test_the_sum_of_their_rows_stays_what_it_was(own: list[list[float]], spread: float) -> None:
    total = torch.stack(sent(Collude(spread=spread), torch.tensor(own))).double().sum(0)
    assert torch.allclose(total, torch.tensor(own).double().sum(0), atol=1e-2)


@given(OWN, st.floats(min_value=0.01, max_value=0.99))
def test_spread_is_how_much_of_its_own_each_attacker_keeps(own: list[list[float]], spread: float) -> None:
    wide = np.array(own, dtype=np.float32).astype(np.float64)
    wanted = (1 - spread) * wide.mean(axis=0) + spread * wide
    assert np.allclose(
        torch.stack(sent(Collude(spread=spread), torch.tensor(own))).numpy(), wanted, atol=1e-4
    )


def test_a_single_attacker_sends_its_own_row() -> None:
    own = torch.randn(1, 50, generator=torch.Generator().manual_seed(0))
    assert torch.equal(sent(Collude(), own)[0], own[0])


def test_an_attacker_whose_training_broke_down_sends_what_the_others_send() -> None:
    own = torch.tensor([[1.0, 2.0], [math.nan, 0.0], [3.0, 2.0]])
    for row in sent(Collude(), own):
        assert row.tolist() == [2.0, 2.0]
    assert not bool(torch.isfinite(sent(Collude(spread=0.5), own)[1]).all())
    assert bool(torch.isnan(sent(Collude(), own[1:2])[0]).any())


def scene(seed: int, attackers: int, away: float, users: int = 20, size: int = 100) -> tuple[Tensor, Tensor]:
    """Honest rows around zero and bad ones around a place that is ``away`` honest deviations from it."""
    rows = torch.randn(users, size, generator=torch.Generator().manual_seed(seed))
    rows[:attackers] += away * size**0.5 * torch.nn.functional.one_hot(torch.tensor(seed % size), size)
    return rows[:attackers], rows[attackers:]


def test_krum_takes_the_bait_of_a_minority_that_it_would_not_have_taken_apart() -> None:
    fallen = {"apart": 0, "together": 0}
    for seed in range(20):
        bad, honest = scene(seed, attackers=8, away=1.5)
        fallen["apart"] += krum(torch.cat([bad, honest]), 8) < 8
        fallen["together"] += krum(torch.cat([torch.stack(sent(Collude(), bad)), honest]), 8) < 8
    assert fallen == {"apart": 0, "together": 20}


def test_a_minority_that_has_gone_too_far_is_not_chosen() -> None:
    for seed in range(5):
        bad, honest = scene(seed, attackers=4, away=3.0)
        assert krum(torch.cat([torch.stack(sent(Collude(), bad)), honest]), 4) >= 4


def test_enough_of_them_are_chosen_however_far_away_they_are() -> None:
    bad, honest = scene(0, attackers=11, away=1e3)  # Krum counts 20 - 8 - 2 = 10 neighbours
    assert krum(torch.cat([torch.stack(sent(Collude(), bad)), honest]), 8) < 11


def test_huge_rows_and_zeros_are_averaged_without_overflow() -> None:
    assert np.allclose(sent(Collude(), torch.full((4, 2), 3e38))[0].numpy(), 3e38)
    assert torch.equal(sent(Collude(spread=0.3), torch.zeros(3, 2))[1], torch.zeros(2))


@pytest.mark.parametrize("spread", [-0.1, 1.0, math.nan, True, "0"])
def test_a_spread_outside_its_range_is_refused(spread: Any) -> None:
    with pytest.raises(InvalidValue, match="spread must be"):
        Collude(spread=spread)
