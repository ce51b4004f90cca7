from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attacks.model_poisoning.seen_rows import HONEST, OWN, seen
from fedward.aggregation import AllRows, CoordinateMedian, Krum, Mean
from fedward.attacks.model_poisoning.known_defence import (
    Averaged,
    Rehearsal,
    best_factor,
    require_rule,
    rule_of,
)
from fedward.base.validate import InvalidValue


def test_what_combines_the_rows_can_be_tried_out_whatever_it_is() -> None:
    assert rule_of(AllRows(rule=CoordinateMedian())) == CoordinateMedian()
    mean = rule_of(Mean(expected_cohort=4.0))
    assert mean == Averaged(aggregator=Mean(expected_cohort=4.0))
    assert mean.least_rows == 1


def test_a_rehearsal_is_the_rule_on_all_rows_as_the_server_clips_them() -> None:
    rehearsal = Rehearsal.of(CoordinateMedian(), seen(bounds=(0.5,)), "an attack")
    rows = [row * min(1.0, 0.5 / float(row.norm())) for row in torch.as_tensor(HONEST)]
    bad = torch.full((5,), 9.0)
    clipped = bad * (0.5 / float(bad.norm()))
    wanted = CoordinateMedian().combine([*rows, *[clipped] * len(OWN)])
    outcome = rehearsal.outcome(bad)
    assert outcome is not None
    assert torch.allclose(outcome, wanted, atol=1e-6)
    away = wanted - torch.stack(rows).double().mean(0)
    assert rehearsal.distance(bad) == pytest.approx(float(away.norm()), rel=1e-5)


def test_a_round_that_keeps_the_model_is_worth_nothing() -> None:
    rehearsal = Rehearsal.of(Krum(malicious=9), seen(), "an attack")
    assert rehearsal.outcome(torch.ones(5)) is None
    assert rehearsal.distance(torch.ones(5)) == 0
    assert Rehearsal.of(CoordinateMedian(), seen(), "x").outcome(torch.full((5,), math.inf)) is None


@given(st.floats(0.5, 20.0), st.integers(1, 12), st.floats(0.0, 1.0))
def test_the_best_factor_is_no_worse_than_any_of_an_even_grid(largest: float, steps: int, top: float) -> None:
    def gain(factor: float) -> float:
        return -abs(factor - top * largest)

    best = best_factor(gain, largest, steps)
    assert 0 < best <= largest * (1 + 1e-9)
    assert all(gain(best) >= gain(largest * i / steps) - 1e-9 for i in range(1, steps + 1))
    assert abs(best - max(top * largest, largest / steps**2)) <= largest / steps + 1e-9


def test_of_equal_gains_the_smallest_factor_wins() -> None:
    assert best_factor(lambda _: 1.0, 10.0, 5) == pytest.approx(0.4)


def test_an_attack_without_a_rule_says_where_one_comes_from() -> None:
    with pytest.raises(InvalidValue, match="needs to know the server's rule: give one"):
        require_rule(None, "optimised_a_little")
