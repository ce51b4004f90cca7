from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from fedward.aggregation import CoordinateMedian, Mean
from fedward.testing import check_aggregator, check_rule
from testing.caught import caught


@dataclass(frozen=True, kw_only=True)
class DividesByRowsThatCame(Mean):
    """The trap of live peers: one user more changes what all others weigh."""

    def init(self, parameters: Tensor) -> Any:
        return [super().init(parameters), 0]

    def add(self, total: Any, row: Tensor, num_examples: int) -> Any:
        return [super().add(total[0], row, num_examples), total[1] + 1]

    def finish(self, total: Any) -> Tensor:
        return total[0] / max(1, total[1])  # type: ignore[no-any-return]


@dataclass(frozen=True, kw_only=True)
class WeighsByReportedExamples(Mean):
    def add(self, total: Tensor, row: Tensor, num_examples: int) -> Tensor:
        return total.add_(row, alpha=num_examples)


@dataclass(frozen=True, kw_only=True)
class ForgetsThatReplacingMovesTwice(Mean):
    def sensitivity(self, bound: float, adjacency: Any) -> float | None:
        return bound / self.expected_cohort


@dataclass(frozen=True, kw_only=True)
class HasAConstantSensitivity(Mean):
    def sensitivity(self, bound: float, adjacency: Any) -> float | None:
        return 1.0


@dataclass(frozen=True, kw_only=True)
class WaitsForRows(Mean):
    least_rows = 3


@dataclass(frozen=True, kw_only=True)
class AddsInSinglePrecision(Mean):
    def init(self, parameters: Tensor) -> Tensor:
        return torch.zeros_like(parameters)


@dataclass(frozen=True, kw_only=True)
class WritesToRows(Mean):
    def add(self, total: Tensor, row: Tensor, num_examples: int) -> Tensor:
        return total.add_(row.div_(2))


@dataclass(frozen=True, kw_only=True)
class HoldsOnToRows(CoordinateMedian):
    needs_all_rows: ClassVar[bool] = True
    missing_as_zero: ClassVar[bool] = False
    divisor: ClassVar[float | None] = None

    def sensitivity(self, bound: float, adjacency: Any) -> float | None:
        return None

    def init(self, parameters: Tensor) -> Any:
        return []

    def add(self, total: Any, row: Tensor, num_examples: int) -> Any:
        return [*total, row]

    def finish(self, total: Any) -> Tensor:
        return self.combine(total)


_SHARED: list[Tensor] = []


@dataclass(frozen=True, kw_only=True)
class SharesItsTotal(Mean):
    def init(self, parameters: Tensor) -> Tensor:
        if not _SHARED or len(_SHARED[0]) != len(parameters):
            _SHARED[:] = [super().init(parameters)]
        return _SHARED[0].zero_()


@dataclass(frozen=True, kw_only=True)
class DropsACoordinate(Mean):
    def finish(self, total: Tensor) -> Tensor:
        return super().finish(total)[1:]


@dataclass(frozen=True, kw_only=True)
class ShufflesByChance(CoordinateMedian):
    def combine(self, rows: list[Tensor]) -> Tensor:
        return rows[int(torch.randint(len(rows), (1,)))].double()


@dataclass(frozen=True, kw_only=True)
class CombinesInSinglePrecision(CoordinateMedian):
    def combine(self, rows: list[Tensor]) -> Tensor:
        return super().combine(rows).float()


@dataclass(frozen=True, kw_only=True)
class NeedsNoRows(CoordinateMedian):
    least_rows = 0


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (DividesByRowsThatCame, "one user more beside nobody moved the result by 0.5, and"),
        (WeighsByReportedExamples, "moved the result by"),
        (ForgetsThatReplacingMovesTwice, "one user replaced beside nobody moved the result"),
        (HasAConstantSensitivity, "is 1.0 for a bound of 1 and 1.0 for a bound of 2"),
        (WaitsForRows, "it has a sensitivity, but least_rows is 3"),
        (AddsInSinglePrecision, "Add up in double precision"),
        (WritesToRows, "add or finish changed its input in place"),
        (SharesItsTotal, "beside those of another round, gave"),
        (DropsACoordinate, "Return a vector of shape (4,)"),
    ],
)
def test_a_broken_mean_is_caught(kind: Any, fault: str) -> None:
    message = caught(check_aggregator, kind(expected_cohort=3.0))
    assert fault in message
    assert message.startswith(kind.__name__)


@pytest.mark.parametrize(
    ("rule", "fault"),
    [
        (ShufflesByChance(), "changed the state of the global generator of torch"),
        (CombinesInSinglePrecision(), "combine gave torch.float32"),
        (NeedsNoRows(), "least_rows is 0"),
    ],
)
def test_a_broken_rule_is_caught(rule: Any, fault: str) -> None:
    assert fault in caught(check_rule, rule)
    assert fault in caught(check_aggregator, rule)


def test_a_rule_that_keeps_the_memory_of_rows_is_caught() -> None:
    assert "writing to rows after add changed the result" in caught(check_aggregator, HoldsOnToRows())


def test_a_mean_reaches_its_sensitivity_and_a_loose_bound_is_said_to_be_loose() -> None:
    assert "reaches its sensitivity" in check_aggregator(Mean(expected_cohort=3.0)).passed

    @dataclass(frozen=True, kw_only=True)
    class Loose(Mean):
        def sensitivity(self, bound: float, adjacency: Any) -> float | None:
            return 5 * bound / self.expected_cohort

    (skipped,) = check_aggregator(Loose(expected_cohort=3.0)).skipped
    assert skipped.promise == "reaches its sensitivity"
    assert "no user tried here moved the result by more than 0.333333" in skipped.reason


def test_a_cohort_below_the_bound_of_one_is_no_way_around_it() -> None:
    """A sum that is divided by less than one moves further than its rows."""
    assert check_aggregator(replace(Mean(expected_cohort=3.0), expected_cohort=0.2)).kind == "aggregator"
