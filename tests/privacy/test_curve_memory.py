from __future__ import annotations

from dp_accounting import GaussianDpEvent

from fedward.privacy.curve_memory import CurveMemory
from fedward.privacy.group import GroupCurve, group_curve


class Curve:
    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes


def test_the_one_that_was_not_asked_for_the_longest_goes_first() -> None:
    memory: CurveMemory[Curve] = CurveMemory(most_bytes=30)
    first = memory.recall_or_compute("a", lambda: Curve(10))
    memory.recall_or_compute("b", lambda: Curve(10))
    assert memory.recall_or_compute("a", lambda: Curve(10)) is first
    memory.recall_or_compute("c", lambda: Curve(15))
    assert (memory.computed, memory.held) == (3, 2)
    assert memory.recall_or_compute("a", lambda: Curve(10)) is first
    memory.recall_or_compute("b", lambda: Curve(10))
    assert memory.computed == 4


def test_one_that_is_too_large_is_given_and_not_held() -> None:
    memory: CurveMemory[Curve] = CurveMemory(most_bytes=30)
    assert memory.recall_or_compute("a", lambda: Curve(31)).nbytes == 31
    assert memory.held == 0
    memory.recall_or_compute("b", lambda: Curve(30))
    assert memory.held == 1


def test_a_curve_is_as_large_as_its_points() -> None:
    curve: GroupCurve = group_curve([(GaussianDpEvent(4.0), 1)], 3)
    assert curve.nbytes == 8 * (len(curve.mixture_over_base) + len(curve.base_over_mixture))
