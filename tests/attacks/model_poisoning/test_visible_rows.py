from __future__ import annotations

import math

import pytest
import torch

from fedward.attacks.model_poisoning.visible_rows import honest_rows, known_rows, own_rows
from fedward.base.validate import InvalidValue
from fedward.core.types import Sight

UPDATE = torch.tensor([1.0, 2.0])
BROKEN = torch.tensor([math.nan, 2.0])


def seen(*own: torch.Tensor, honest: torch.Tensor | None = None) -> Sight:
    return Sight(
        round=0, parameters=torch.zeros(2), bounds=(), own=dict(enumerate(own)), cohort=None, honest=honest
    )


def test_own_rows_are_those_of_all_attackers_in_their_order() -> None:
    assert torch.equal(own_rows(UPDATE, seen(UPDATE, 2 * UPDATE)), torch.tensor([[1.0, 2.0], [2.0, 4.0]]))


def test_own_rows_that_would_be_rejected_are_left_out() -> None:
    assert torch.equal(own_rows(UPDATE, seen(BROKEN, UPDATE)), UPDATE[None])


def test_where_no_row_can_be_used_the_update_stands_alone() -> None:
    assert torch.equal(own_rows(UPDATE, seen()), UPDATE[None])
    assert own_rows(BROKEN, seen(BROKEN, BROKEN)).shape == (1, 2)


def test_honest_rows_may_be_none_at_all() -> None:
    assert honest_rows(seen(honest=torch.zeros(0, 2)), "an attack").shape == (0, 2)
    assert torch.equal(honest_rows(seen(honest=torch.stack([BROKEN, UPDATE])), "an attack"), UPDATE[None])


def test_honest_rows_that_may_not_be_seen_are_refused_by_name() -> None:
    with pytest.raises(InvalidValue, match="an attack needs attackers that know the cohort"):
        honest_rows(seen(UPDATE), "an attack")


def test_known_rows_are_the_honest_ones_where_there_are_any() -> None:
    honest = torch.stack([UPDATE, 3 * UPDATE, BROKEN])
    assert torch.equal(known_rows(UPDATE, seen(UPDATE, honest=honest)), honest[:2])
    assert torch.equal(known_rows(UPDATE, seen(2 * UPDATE, honest=honest[2:])), 2 * UPDATE[None])
    assert torch.equal(known_rows(UPDATE, seen(2 * UPDATE)), 2 * UPDATE[None])
