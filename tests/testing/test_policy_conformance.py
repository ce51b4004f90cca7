from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from fedward.clipping import FixedBound, Quantile, RawMedian
from fedward.core.types import Bounds, PolicyState
from fedward.testing import check_clip_policy
from testing.caught import caught

QUANTILE: dict[str, Any] = {"initial": 0.5, "quantile": 0.5, "bit_noise": 1.0, "expected_cohort": 10}


@dataclass(frozen=True, kw_only=True)
class LooksWithoutNoise(Quantile):
    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        return (policy[0] * (0.9 if self.look(policy[0], norms) > 0 else 1 / 0.9),)


@dataclass(frozen=True, kw_only=True)
class LooksInSecret(Quantile):
    def looks(self, round: int) -> tuple[float, ...]:
        return ()


@dataclass(frozen=True, kw_only=True)
class HidesThatNothingIsProven(RawMedian):
    unproven = ""


@dataclass(frozen=True, kw_only=True)
class FallsToZero(FixedBound):
    def bound(self, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds:
        return (0.5 - 0.01 * round,)


@dataclass(frozen=True, kw_only=True)
class KeepsWholeNumbers(FixedBound):
    def init(self) -> PolicyState:
        return (1,)

    def move(
        self, policy: PolicyState, round: int, bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> PolicyState:
        return policy


@dataclass(frozen=True, kw_only=True)
class SortsNorms(RawMedian):
    def bound(self, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds:
        if norms:
            norms.sort(reverse=True)
        return super().bound(policy, round, norms)


@dataclass(frozen=True, kw_only=True)
class MovesThreeTimesAsFar(Quantile):
    replaced_moves = 3.0


@pytest.mark.parametrize(
    ("policy", "fault"),
    [
        (LooksWithoutNoise(**QUANTILE), "is the same for 64 streams, whatever the norms"),
        (LooksInSecret(**QUANTILE), "for which it declares no look, its state follows the norms"),
        (HidesThatNothingIsProven(), "it reads the norms of the same round and unproven is empty"),
        (FallsToZero(clip_bound=0.5), "its bound in round 50 is"),
        (KeepsWholeNumbers(clip_bound=0.5), "its state after round 0 is (1,)"),
        (SortsNorms(), "bound changed its input in place"),
        (MovesThreeTimesAsFar(**QUANTILE), "replaced_moves is 3.0"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_policy_is_caught(policy: Any, fault: str) -> None:
    assert fault in caught(check_clip_policy, policy)
