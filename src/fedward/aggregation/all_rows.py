"""The aggregator around a robust rule: all rows are held until the end, and nothing is proven of privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from fedward.base.validate import InvalidType, InvalidValue
from fedward.privacy.events import Adjacency


class Rule(Protocol):
    """Makes one vector of all rows of a round; ``str()`` of it stands in logs and errors."""

    @property
    def least_rows(self) -> int:
        """The fewest rows that it can combine."""

    def combine(self, rows: list[Tensor]) -> Tensor:
        """One vector in double precision, from at least ``least_rows`` rows; it leaves them as they are."""


@dataclass(frozen=True, kw_only=True)
class AllRows:
    """A robust rule as an aggregator.

        Δ = rule(Δ_1, ..., Δ_n),    n the rows that came

    It needs all rows at once. A user that dropped out or sent rubbish is no row: as zeros it would be a vote
    for a model that stays.

    No guarantee of privacy, whichever the rule: it has no sensitivity and takes no noise.

    >>> import torch
    >>> from fedward.aggregation.median import CoordinateMedian
    >>> median = AllRows(rule=CoordinateMedian())
    >>> median.finish([torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([900.0])])
    tensor([2.], dtype=torch.float64)
    >>> print(median)
    CoordinateMedian()
    """

    rule: Rule

    needs_all_rows = True
    missing_as_zero = False
    divisor = None

    def __post_init__(self) -> None:
        if not hasattr(self.rule, "combine"):
            raise InvalidType(f"rule must combine all rows of a round, got {self.rule!r}")

    def __str__(self) -> str:
        return str(self.rule)

    @property
    def least_rows(self) -> int:
        return self.rule.least_rows

    def sensitivity(self, bound: float, adjacency: Adjacency) -> float | None:
        return None

    def init(self, parameters: Tensor) -> list[Tensor]:
        return []

    def add(self, total: list[Tensor], row: Tensor, num_examples: int) -> list[Tensor]:
        total.append(row.clone())
        return total

    def finish(self, total: list[Tensor]) -> Tensor:
        if len(total) < self.least_rows:
            raise InvalidValue(f"{self} needs at least {self.least_rows} rows, got {len(total)}")
        return self.rule.combine(total)
