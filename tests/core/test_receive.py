from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from core.rounds import FEDERATION, SIZE, start
from fedward.aggregation import Mean
from fedward.clipping import RawMedian
from fedward.core.algorithm import Algorithm
from fedward.core.receive import receive
from fedward.core.round import finish_round, plan_round
from fedward.core.types import Plan, Row
from fedward.sampling import EveryoneSampler
from support import Tamperer, tiny_algorithm


class Watched(Mean):
    """A mean that says when it takes a row."""

    def add(self, total: Any, row: Tensor, num_examples: int) -> Any:
        SEEN.append("taken")
        return super().add(total, row, num_examples)


SEEN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


def watched(**changes: Any) -> Algorithm:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    return replace(algorithm, aggregator=Watched(expected_cohort=12), **changes)


def trained(plan: Plan) -> Iterator[Row]:
    """A backend's rows, each trained when it is asked for."""
    for job in plan.jobs:
        SEEN.append("trained")
        yield Row(job.user, torch.full((SIZE,), 1.0 + job.user))


def test_each_row_is_added_before_the_next_one_is_trained() -> None:
    """So a mean never holds more rows than one."""
    algorithm = watched()
    plan = plan_round(algorithm, start(algorithm), FEDERATION.roster, None, 1)
    receive(algorithm, start(algorithm), plan, trained(plan), 1)
    assert SEEN == ["trained", "taken"] * 12


@pytest.mark.parametrize("who", ["policy", "adversary"])
def test_rows_wait_only_for_who_needs_them_all(who: str) -> None:
    algorithm = watched(policy=RawMedian()) if who == "policy" else watched()
    adversary = Tamperer({2}, lambda user, update: update)
    adversary.needs_all_rows = who == "adversary"
    plan = plan_round(algorithm, start(algorithm), FEDERATION.roster, adversary, 1)
    receive(algorithm, start(algorithm), plan, trained(plan), 1)
    assert SEEN == ["trained"] * 12 + ["taken"] * 12


def test_finishing_a_round_trains_nobody() -> None:
    """Whatever a backend does is over before noise is drawn."""
    algorithm = watched()
    state = start(algorithm)
    plan = plan_round(algorithm, state, FEDERATION.roster, None, 1)
    state = replace(state, ledger=state.ledger.reserve(0, plan.event))
    received = receive(algorithm, state, plan, trained(plan), 1)
    seen = list(SEEN)
    after = [finish_round(algorithm, state, plan, received, 1)[0].parameters for _ in range(2)]
    assert seen == SEEN
    assert torch.equal(after[0], after[1])


@pytest.mark.parametrize("signs", [1.0, -1.0])
def test_a_finite_row_is_taken_though_its_sum_overflows(signs: float) -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    state = start(algorithm)
    plan = plan_round(algorithm, state, FEDERATION.roster, None, 1)
    huge = torch.full((SIZE,), signs * 3e38)
    assert not math.isfinite(float(huge.sum()))
    rows = [Row(job.user, huge if job.user == 3 else torch.zeros(SIZE)) for job in plan.jobs]
    received = receive(algorithm, state, plan, rows, 1)
    assert dict(received.outcomes)[3] == "taken"
    assert received.norms[3][0] == pytest.approx(3e38 * SIZE**0.5, rel=1e-6)
    # And it counts as far as its bound.
    assert float(received.total.norm()) == pytest.approx(0.7, rel=1e-5)


def test_one_number_that_is_not_finite_among_huge_ones_is_rejected() -> None:
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    state = start(algorithm)
    plan = plan_round(algorithm, state, FEDERATION.roster, None, 1)
    bad = torch.full((SIZE,), 3e38)
    bad[2] = math.nan
    rows = [Row(job.user, bad if job.user == 3 else None) for job in plan.jobs]
    received = receive(algorithm, state, plan, rows, 1)
    assert dict(received.outcomes) == {user: "rejected" if user == 3 else "dropped" for user in range(12)}
    assert float(received.total.norm()) == 0
