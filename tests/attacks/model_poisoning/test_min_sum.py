from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attacks.model_poisoning.seen_rows import HONEST, OWN, seen, sent
from fedward.attacks.model_poisoning import MinSum
from fedward.attacks.model_poisoning.farthest_hidden import Direction, direction_of
from fedward.attacks.model_poisoning.min_sum import min_sum_reach
from fedward.base.validate import InvalidValue

DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
NUMBERS = st.floats(min_value=-1e3, max_value=1e3)


def hidden(rows: Any, row: Any, slack: float = 1e-9) -> bool:
    """The paper's constraint, from its definition."""
    most = max(sum(float(((one - other) ** 2).sum()) for other in rows) for one in rows)
    return sum(float(((row - one) ** 2).sum()) for one in rows) <= most * (1 + slack) + slack


@pytest.mark.parametrize("direction", DIRECTIONS)
@given(rows=st.lists(st.lists(NUMBERS, min_size=3, max_size=3), min_size=2, max_size=6))
def test_it_goes_as_far_as_hidden_and_no_farther(direction: Direction, rows: list[list[float]]) -> None:
    wide = torch.tensor(rows, dtype=torch.float64)
    towards = direction_of(wide, direction)
    reach = min_sum_reach(wide, towards)
    mean = wide.mean(0)
    assert reach >= 0
    assert hidden(wide.numpy(), (mean + reach * towards).numpy(), 1e-7)
    if float(towards.norm()) > 1e-3 and float((wide - mean).norm()) > 1e-3:
        assert not hidden(wide.numpy(), (mean + (reach * 1.001 + 1e-2) * towards).numpy())


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_row_is_that_of_a_halving_search(direction: Direction) -> None:
    rows = HONEST.astype(np.float64)
    mean = rows.mean(0)
    towards = {"std": -rows.std(0), "unit": -mean / np.linalg.norm(mean), "sign": -np.sign(mean)}[direction]
    low, high = 0.0, 1e3
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if hidden(rows, mean + middle * towards, 0.0) else (low, middle)
    row = sent(MinSum(direction=direction), seen())
    assert np.allclose(row.numpy(), mean + low * towards, rtol=1e-5, atol=1e-6)


def test_attackers_who_know_their_own_rows_go_by_those() -> None:
    assert torch.equal(sent(MinSum(), seen(honest=None)), sent(MinSum(), seen(honest=OWN)))


def test_one_row_or_equal_rows_show_nothing() -> None:
    assert torch.equal(sent(MinSum(), seen(honest=HONEST[:1])), torch.as_tensor(HONEST[0]))
    assert torch.allclose(sent(MinSum(), seen(honest=HONEST[[1, 1, 1]])), torch.as_tensor(HONEST[1]))


def test_a_direction_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidValue, match="direction must be one of std, unit, sign, got 'down'"):
        MinSum(direction="down")  # type: ignore[arg-type]
