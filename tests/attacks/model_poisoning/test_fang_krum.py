from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attacks.model_poisoning.seen_rows import seen, sent
from fedward.aggregation import Krum
from fedward.attacks.model_poisoning import FangKrum
from fedward.base.validate import InvalidType, InvalidValue


def rows_of(seed: int, count: int, size: int = 6, mean: float = 1.0) -> Any:
    """Rows about a common mean, as users with like data have them."""
    rng = np.random.default_rng(seed)
    return (mean * rng.normal(size=size) + 0.5 * rng.normal(size=(count, size))).astype(np.float32)


def brute_force(honest: Any, own: Any, expected: int, threshold: float = 1e-5) -> tuple[Any, bool]:
    """The attack from its definition, with the rule itself in the place of formulas about it."""
    tensors = [torch.as_tensor(row) for row in (*honest, *own)]
    n, c, d = len(tensors), len(own), len(honest[0])
    neighbours = n - expected - 2
    wide = np.asarray([*honest, *own], dtype=np.float64)
    squared = ((wide[:, None] - wide[None]) ** 2).sum(2)
    scores = [sum(sorted(np.delete(squared[i], i))[:neighbours]) for i in range(n)]
    signs = np.where(wide[int(np.argmin(scores))] >= 0, 1.0, -1.0)
    among = squared[: len(honest), : len(honest)]
    few = min(len(honest) - 1, n - c - 2)
    nearest = [sum(sorted(np.delete(among[i], i))[:few]) for i in range(len(honest))]
    bound = math.sqrt(min(nearest) / (max(1, n - 2 * c - 1) * d)) + max(
        np.linalg.norm(row.astype(np.float64)) for row in honest
    ) / math.sqrt(d)
    reach = bound
    while reach > threshold:
        crafted = torch.from_numpy(-reach * signs)
        others = [row.double() for row in tensors[: len(honest)]]
        winner = Krum(malicious=expected).combine([*others, *[crafted] * c])
        if torch.equal(winner, crafted):
            return -reach * signs, True
        reach /= 2
    return -reach * signs, False


@given(st.integers(0, 200), st.integers(5, 9), st.integers(1, 3))
def test_the_row_is_that_of_a_search_with_krum_itself(seed: int, users: int, attackers: int) -> None:
    honest, own = rows_of(seed, users), rows_of(seed + 1000, attackers)
    wanted, _ = brute_force(honest, own, attackers)
    assert np.allclose(sent(FangKrum(), seen(own, honest)).numpy(), wanted, rtol=1e-5, atol=1e-12)


def test_krum_takes_the_row_and_the_model_goes_the_wrong_way() -> None:
    honest, own = rows_of(3, 12, mean=0.1), rows_of(4, 4, mean=0.1)
    row = sent(FangKrum(), seen(own, honest))
    assert float(row.abs().max()) > 0.01
    rows = [torch.as_tensor(each) for each in honest]
    assert torch.equal(Krum(malicious=4).combine([*rows, *[row] * 4]), row.double())
    without = Krum(malicious=4).combine([*rows, *(torch.as_tensor(each) for each in own)])
    assert float(row.double() @ without) < 0


def test_attackers_who_know_their_own_rows_search_among_those() -> None:
    own = rows_of(1, 6)
    row = sent(FangKrum(), seen(own, None)).double().numpy()
    signs = np.where(own.astype(np.float64).mean(0) >= 0, 1.0, -1.0)
    reach = float(-row[0] * signs[0])
    assert np.allclose(row, -reach * signs)
    rows, crafted = [torch.as_tensor(each) for each in own], torch.from_numpy(row)
    winners = [Krum(malicious=q).combine([*rows, *[crafted] * q]) for q in (1, 2, 3)]
    assert any(torch.allclose(winner, crafted) for winner in winners)


def test_one_attacker_alone_ends_its_search_and_sends_almost_nothing() -> None:
    row = sent(FangKrum(), seen(rows_of(1, 1), None))
    assert 0 < float(row.abs().max()) <= 1e-5


def test_the_rows_of_the_others_lie_within_the_spread() -> None:
    honest, own = rows_of(3, 12), rows_of(4, 4)
    sight, part = seen(own, honest), FangKrum(spread=0.01)
    first = sent(part, sight)
    assert torch.equal(first, sent(FangKrum(), seen(own, honest)))
    others = [sent(part, sight, user, seed=user) for user in (1, 2, 3)]
    assert all(0 < float((row - first).norm()) <= 0.01 + 1e-6 for row in others)
    assert not torch.equal(others[0], others[1])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"malicious": -1}, InvalidValue),
        ({"malicious": 1.5}, InvalidType),
        ({"spread": -0.1}, InvalidValue),
        ({"threshold": 0.0}, InvalidValue),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="must be"):
        FangKrum(**arguments)
