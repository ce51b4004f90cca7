"""The aggregator around a robust rule: all rows are held until the end, and nothing is proven of privacy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.types import Memory, Watched
from fedward.privacy.events import Adjacency


class Rule(Protocol):
    """Makes one vector of all rows of a round; ``str()`` of it stands in logs and errors."""

    @property
    def least_rows(self) -> int:
        """The fewest rows that it can combine."""

    def combine(self, rows: list[Tensor]) -> Tensor:
        """One vector in double precision, from at least ``least_rows`` rows; it leaves them as they are."""


@runtime_checkable
class WatchingRule(Protocol):
    """A rule that also goes by who sent a row, by chance, by the model or by what earlier rounds have shown.

    Its ``combine`` is a round of its own: round 0, with users counted from 0, a model of zeros and numbers
    drawn from one seed.
    """

    @property
    def least_rows(self) -> int:
        """The fewest rows that it can combine."""

    @property
    def knows_users(self) -> bool:
        """Whether it goes by who sent a row, so that rows may not be mixed with others before."""

    @property
    def root_user(self) -> int | None:
        """The user whose data are the server's own; None if there is none."""

    @property
    def own_noise(self) -> str:
        """Why no ε covers the noise that it adds itself; empty if it adds none."""

    def first_memory(self, parameters: Tensor) -> Memory:
        """What it remembers before round 0."""

    def combine(self, rows: list[Tensor]) -> Tensor: ...

    def combine_watched(self, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        """One vector in double precision, and what it remembers from now on."""


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

    @property
    def root_user(self) -> int | None:
        return self.rule.root_user if isinstance(self.rule, WatchingRule) else None

    @property
    def own_noise(self) -> str:
        return self.rule.own_noise if isinstance(self.rule, WatchingRule) else ""

    def first_memory(self, parameters: Tensor) -> Memory:
        return self.rule.first_memory(parameters) if isinstance(self.rule, WatchingRule) else ()

    def sensitivity(self, bound: float, adjacency: Adjacency) -> float | None:
        return None

    def init(self, parameters: Tensor) -> list[Tensor]:
        return []

    def add(self, total: list[Tensor], row: Tensor, num_examples: int) -> list[Tensor]:
        total.append(row.clone())
        return total

    def finish(self, total: list[Tensor]) -> Tensor:
        self._require_enough(total)
        return self.rule.combine(total)

    def finish_watched(self, total: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        self._require_enough(total)
        return combine_watched(self.rule, total, watched)

    def _require_enough(self, total: list[Tensor]) -> None:
        if len(total) < self.least_rows:
            raise InvalidValue(f"{self} needs at least {self.least_rows} rows, got {len(total)}")


def combine_watched(rule: Rule, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
    """What a rule makes of the rows, and remembers, whether it watches rounds or not."""
    if isinstance(rule, WatchingRule):
        return rule.combine_watched(rows, watched)
    return rule.combine(rows), ()


def combine_alone(rule: WatchingRule, rows: list[Tensor]) -> Tensor:
    """What a watching rule makes of rows in a round of its own: see ``WatchingRule``."""
    parameters = torch.zeros_like(rows[0])
    watched = Watched(
        round=0,
        users=tuple(range(len(rows))),
        parameters=parameters,
        memory=rule.first_memory(parameters),
        rng=np.random.default_rng(0),
    )
    return rule.combine_watched(rows, watched)[0]
