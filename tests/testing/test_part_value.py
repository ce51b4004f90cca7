from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

from fedward.base.validate import positive
from fedward.testing.conformance import check_promises
from fedward.testing.part_value import VALUE_PROMISES
from testing.caught import caught


@dataclass(frozen=True, kw_only=True)
class Sound:
    rate: float
    name: str = "sound"

    def __post_init__(self) -> None:
        positive("rate", self.rate)


@dataclass(kw_only=True)
class CanBeSet:
    rate: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparesByIdentity:
    rate: float = 1.0


@dataclass(frozen=True, kw_only=True)
class HoldsATensor:
    weights: Tensor


@dataclass(frozen=True, kw_only=True)
class HashesByIdentity(Sound):
    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, kw_only=True, repr=False)
class PrintsItsAddress:
    name: str = "a"


@dataclass(frozen=True, kw_only=True)
class HoldsALock:
    lock: Any = field(default_factory=threading.Lock, compare=False, repr=False)

    def __deepcopy__(self, memo: Any) -> HoldsALock:
        return HoldsALock()


@dataclass(frozen=True, kw_only=True)
class TakesAnything:
    rate: float = 1.0


@dataclass(frozen=True, kw_only=True)
class SaysNothing:
    rate: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.rate, float) or self.rate != self.rate:
            raise ValueError("wrong")


def check(part: Any) -> Any:
    return check_promises("part", part, VALUE_PROMISES)


def test_a_sound_value_passes() -> None:
    assert len(check(Sound(rate=1.0)).passed) == 5


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        (CanBeSet(rate=1.0), "rate of it can be set after it was made"),
        (ComparesByIdentity(), "a copy of it is not equal to it"),
        (HoldsATensor(weights=torch.ones(3)), "a copy of it is not equal to it"),
        (HashesByIdentity(rate=1.0), "an equal copy of it has another hash"),
        (PrintsItsAddress(), "it prints as"),
        (HoldsALock(), "it cannot be pickled"),
        (TakesAnything(), "rate='no number' was taken without a word"),
        (SaysNothing(), "does not say which value came: wrong"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_value_is_caught(part: Any, fault: str) -> None:
    assert fault in caught(check, part)
