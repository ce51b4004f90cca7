from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from torch import Tensor

from fedward.aggregation import Mean
from fedward.core.algorithm import Algorithm
from fedward.testing import check_preset
from support import tiny_algorithm, tiny_sgd
from testing.caught import caught

NUMBERS = itertools.count()


def another_each_time() -> Algorithm:
    return tiny_algorithm(clip_bound=1.0 + next(NUMBERS))


def no_algorithm() -> Any:
    return {"preset": "mine"}


def badly_named() -> Algorithm:
    return replace(tiny_algorithm(), name="my preset!")


@dataclass(frozen=True, kw_only=True)
class HalfSensitivity(Mean):
    def sensitivity(self, bound: float, adjacency: Any) -> float | None:
        declared = super().sensitivity(bound, adjacency)
        assert declared is not None
        return declared / 2


def an_unsound_part() -> Algorithm:
    return replace(tiny_algorithm(), aggregator=HalfSensitivity(expected_cohort=6.0))


@dataclass(frozen=True, kw_only=True)
class Remembers(Mean):
    """Carries on from round to round what no state holds."""

    seen: list[int]

    def finish(self, total: Tensor) -> Tensor:
        self.seen.append(1)
        return super().finish(total) * len(self.seen)


SEEN: list[int] = []


def a_part_that_remembers() -> Algorithm:
    return replace(tiny_algorithm(), aggregator=Remembers(expected_cohort=6.0, seen=SEEN))


def exploding() -> Algorithm:
    return tiny_algorithm(local=tiny_sgd(), clip_bound=1e38, noise_multiplier=1e10)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (another_each_time, "two calls gave algorithms that differ"),
        (no_algorithm, "it returned {'preset': 'mine'}"),
        (badly_named, "its algorithm is called 'my preset!'"),
        (an_unsound_part, "HalfSensitivity(expected_cohort=6.0) breaks a promise of an aggregator"),
        (a_part_that_remembers, "a training gave"),
        (exploding, "the model is not finite after three rounds"),
    ],
)
def test_a_broken_preset_is_caught(make: Callable[[], Any], fault: str) -> None:
    assert fault in caught(check_preset, make)


def test_a_sound_preset_is_reported_by_the_name_of_its_function() -> None:
    report = check_preset(tiny_algorithm)
    assert report.part == "tiny_algorithm"
    assert len(report.passed) == 4
