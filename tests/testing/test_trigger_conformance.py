from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from torch import Tensor

from fedward.attacks.poisoning import BoldDigit, Pixels, Square, Triangle
from fedward.attacks.poisoning.patterns import Place
from fedward.core.examples import Examples
from fedward.testing import check_feature, check_pattern
from support import flat_inputs
from testing.caught import caught


@dataclass(frozen=True, kw_only=True)
class BolderThanOthers(BoldDigit):
    def mask(self, examples: Examples) -> Tensor:
        ink = flat_inputs(examples).flatten(1).mean(1)
        return ink >= ink.mean()


@dataclass(frozen=True, kw_only=True)
class OneMarkForAll(BoldDigit):
    def mask(self, examples: Examples) -> Tensor:
        return super().mask(examples).any()


@dataclass(frozen=True, kw_only=True)
class FromTheBottom(Square):
    def pixels(self, shape: tuple[int, ...]) -> tuple[Place, ...]:
        return super().pixels(shape)[::-1]


@dataclass(frozen=True, kw_only=True)
class OverTheEdge(Square):
    def pixels(self, shape: tuple[int, ...]) -> tuple[Place, ...]:
        return tuple((row + 1, column) for row, column in super().pixels(shape))


@dataclass(frozen=True, kw_only=True)
class FitsNothing(Triangle):
    def pixels(self, shape: tuple[int, ...]) -> tuple[Place, ...]:
        return ((0, 0), (0, 1)) if shape[-1] == 1 else ((0, 0),)


@pytest.mark.parametrize(
    ("feature", "fault"),
    [
        (BolderThanOthers(label=1, ink=0.3), "together and"),
        (OneMarkForAll(label=1, ink=0.3), "Return one bool for each example"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_feature_is_caught(feature: Any, fault: str) -> None:
    assert fault in caught(check_feature, feature)


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        (FromTheBottom(size=2), "in reading order"),
        (OverTheEdge(size=2), "is outside of 28 x 28"),
        (FitsNothing(size=2), "pixel (0, 1) is outside of 1 x 1"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_pattern_is_caught(pattern: Any, fault: str) -> None:
    assert fault in caught(check_pattern, pattern)


@pytest.mark.parametrize(
    "pattern", [Square(size=3), Square(size=1, row=0, column=0), Triangle(size=2), Pixels(places=((0, 0),))]
)
def test_every_pattern_keeps_its_promises(pattern: Any) -> None:
    check_pattern(pattern)
    check_pattern(pattern, shape=(8, 8))


def test_a_feature_keeps_its_promises() -> None:
    assert check_feature(BoldDigit(label=1, ink=0.3)).kind == "feature"
