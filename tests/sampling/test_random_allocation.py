from __future__ import annotations

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, NoOpDpEvent
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.privacy.accounting_events import RandomAllocationDpEvent
from fedward.sampling import RandomAllocation
from fedward.testing import check_sampler


@given(users=st.integers(1, 60), epoch=st.integers(1, 9), first=st.integers(0, 3), seed=st.integers(0, 99))
def test_everybody_takes_part_exactly_once_in_an_epoch(users: int, epoch: int, first: int, seed: int) -> None:
    sampler = RandomAllocation(epoch=epoch)
    rounds = range(first * epoch, (first + 1) * epoch)
    cohorts = [sampler.at_round(t).draw(users, np.random.default_rng(seed)) for t in rounds]
    assert sorted(np.concatenate(cohorts).tolist()) == list(range(users))


def test_each_round_of_an_epoch_is_as_likely_for_each_pair_of_users() -> None:
    """Uniform, and independent between users: the joint law of two of them by chi-square."""
    epoch, draws = 3, 9000
    sampler, counts = RandomAllocation(epoch=epoch), np.zeros((epoch, epoch))
    for seed in range(draws):
        place = [
            int(np.isin([0, 5], sampler.at_round(t).draw(6, np.random.default_rng(seed))).sum()) for t in (0,)
        ]
        allotted = np.random.default_rng(seed).integers(epoch, size=6)
        counts[allotted[0], allotted[5]] += 1
        assert place[0] == int((allotted[[0, 5]] == 0).sum())
    chi_square = float(((counts - draws / 9) ** 2 / (draws / 9)).sum())
    assert chi_square < 26.1  # of 8 degrees of freedom, one in a thousand; the seeds are fixed


def test_an_epoch_is_charged_in_its_first_round_and_an_epoch_of_one_is_everybody() -> None:
    event, sampler = GaussianDpEvent(3.0), RandomAllocation(epoch=4)
    charged = [sampler.at_round(t).amplify(event, 12) for t in range(5)]
    whole = RandomAllocationDpEvent(4, event)
    assert charged == [whole, NoOpDpEvent(), NoOpDpEvent(), NoOpDpEvent(), whole]
    alone = RandomAllocation(epoch=1)
    assert alone.at_round(3).amplify(event, 12) == event
    assert alone.draw(4, np.random.default_rng(0)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("epoch", [1, 2, 7])
def test_it_keeps_the_promises_of_a_sampler(epoch: int) -> None:
    assert check_sampler(RandomAllocation(epoch=epoch))


def test_mistakes_are_refused() -> None:
    with pytest.raises(InvalidValue, match="rounds of an epoch must be at least 1, got 0"):
        RandomAllocation(epoch=0)
    with pytest.raises(InvalidType, match="rounds of an epoch must be a whole number"):
        RandomAllocation(epoch=1.5)  # type: ignore[arg-type]
