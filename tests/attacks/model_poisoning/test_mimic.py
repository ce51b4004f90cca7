from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attacks.model_poisoning.seen_rows import HONEST, OWN, seen, sent
from fedward.attacks.model_poisoning import Mimic
from fedward.attacks.model_poisoning.mimic import farthest_out
from fedward.base.validate import InvalidValue


@given(st.integers(2, 8), st.integers(1, 12), st.integers(0, 50))
def test_the_copied_row_is_that_of_the_definition(users: int, size: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(users, size))
    covariance = np.cov(rows.T, bias=True).reshape(size, size)
    z = np.linalg.eigh(covariance)[1][:, -1]
    assert farthest_out(torch.from_numpy(rows)) == int(np.argmax(np.abs(rows @ z)))


def test_every_attacker_sends_one_honest_row_to_the_bit() -> None:
    sight = seen()
    row = sent(Mimic(), sight)
    assert any(torch.equal(row, torch.as_tensor(honest)) for honest in HONEST)
    assert torch.equal(row, sent(Mimic(), sight, 2))
    assert torch.equal(row, sent(Mimic(), seen(own=-OWN)))


def test_rows_near_the_largest_number_do_not_overflow_on_the_way() -> None:
    honest = np.array([[3e38, 0], [-3e38, 1], [1e38, 0]], dtype=np.float32)
    assert farthest_out(torch.as_tensor(honest)) in (0, 1)
    assert farthest_out(torch.zeros(3, 2)) == 0


def test_without_honest_rows_there_is_nobody_to_copy() -> None:
    assert torch.equal(sent(Mimic(), seen(honest=HONEST[:0])), torch.zeros(5))
    assert torch.equal(sent(Mimic(), seen(honest=HONEST[:1])), torch.as_tensor(HONEST[0]))


def test_attackers_who_do_not_know_the_honest_rows_are_refused() -> None:
    with pytest.raises(InvalidValue, match="mimic needs attackers that know the cohort and all honest rows"):
        sent(Mimic(), seen(honest=None))
