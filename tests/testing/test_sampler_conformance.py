from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from dp_accounting import DpEvent, NoOpDpEvent, PoissonSampledDpEvent

from fedward.privacy.accounting_events import RandomAllocationDpEvent
from fedward.privacy.events import Adjacency
from fedward.sampling import FixedSizeSampler, PoissonSampler, RandomAllocation
from fedward.sampling.random_allocation import AllottedRound
from fedward.testing import check_sampler
from testing.caught import caught

Cohort = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, kw_only=True)
class FixedSizeUnderPoissonAccounting(FixedSizeSampler):
    """The trap of live peers."""

    adjacency: ClassVar[Adjacency] = "add/remove"

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        return PoissonSampledDpEvent(self.size / num_users, event)


@dataclass(frozen=True, kw_only=True)
class PrefersTheFirst(PoissonSampler):
    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        rates = np.linspace(1.2, 0.8, num_users) * self.rate
        return np.flatnonzero(rng.random(num_users) < rates).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class ClaimsASmallerRate(PoissonSampler):
    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        return PoissonSampledDpEvent(self.rate / 2, event)


@dataclass(frozen=True, kw_only=True)
class DrawsInAnyOrder(FixedSizeSampler):
    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        return rng.permutation(num_users)[: self.size].astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class CountsFromOne(PoissonSampler):
    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        return super().draw(num_users, rng) + 1


@dataclass(frozen=True, kw_only=True)
class SaysThatItIsExact(PoissonSampler):
    exact = True


@dataclass(frozen=True, kw_only=True)
class DeclaresWhatFollowsTheUsers(PoissonSampler):
    declares_size = True


@dataclass(frozen=True, kw_only=True)
class DrawsFromNumpy(PoissonSampler):
    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        return np.flatnonzero(np.random.random(num_users) < self.rate).astype(np.int64)  # noqa: NPY002


class _CoinsOfARound(AllottedRound):
    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        return np.flatnonzero(rng.random(num_users) < 1 / self.allocation.epoch).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class CoinsUnderTheAccountingOfAllotments(RandomAllocation):
    def at_round(self, round: int) -> AllottedRound:
        return _CoinsOfARound(allocation=self, round=round)


class _RoundOfALongerEpoch(AllottedRound):
    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        longer = RandomAllocationDpEvent(8 * self.allocation.epoch, event)
        return NoOpDpEvent() if self.round % self.allocation.epoch else longer


@dataclass(frozen=True, kw_only=True)
class ClaimsALongerEpoch(RandomAllocation):
    def at_round(self, round: int) -> AllottedRound:
        return _RoundOfALongerEpoch(allocation=self, round=round)


@pytest.mark.parametrize(
    ("sampler", "fault"),
    [
        (FixedSizeUnderPoissonAccounting(size=4), "sizes of cohorts have variance 0, and users drawn indep"),
        (PrefersTheFirst(rate=0.5), "user 0 is in 59.1"),
        (ClaimsASmallerRate(rate=0.5), "a user who is in 50.0% of all cohorts costs"),
        (DrawsInAnyOrder(size=4), "Return each user once, ascending"),
        (CountsFromOne(rate=0.5), "Return users from 0 to 11"),
        (SaysThatItIsExact(rate=0.5), "exact is True, but a cohort has"),
        (DeclaresWhatFollowsTheUsers(rate=0.5), "declares_size is True, but 12 users give 6.0"),
        (DrawsFromNumpy(rate=0.5), "changed the state of the global generator of numpy"),
        (CoinsUnderTheAccountingOfAllotments(epoch=3), "Draw every user in exactly one round of an epoch"),
        (ClaimsALongerEpoch(epoch=3), "a user who is in one of 3 rounds costs"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_sampler_is_caught(sampler: Any, fault: str) -> None:
    assert fault in caught(check_sampler, sampler)


def test_the_number_of_users_can_be_chosen() -> None:
    assert "cohort size must be at most" in caught(check_sampler, FixedSizeSampler(size=20))
    check_sampler(FixedSizeSampler(size=20), num_users=30)
