"""The server's rule in the hands of attackers: what it would make of a row before that is sent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation import AllRows, Rule, WatchingRule
from fedward.attacks.model_poisoning.visible_rows import honest_rows
from fedward.base.validate import InvalidValue
from fedward.clipping.norms import clip_to, l2_norm
from fedward.core.types import Aggregator, Sight, Watched


@dataclass(frozen=True, kw_only=True)
class Averaged:
    """An aggregator that is no rule, a mean say, asked like one; every row counts the same.

    >>> from fedward.aggregation import Mean
    >>> Averaged(aggregator=Mean(expected_cohort=4.0)).combine([torch.ones(1), torch.ones(1)])
    tensor([0.5000], dtype=torch.float64)
    """

    aggregator: Aggregator

    @property
    def least_rows(self) -> int:
        return max(1, self.aggregator.least_rows)

    def combine(self, rows: list[Tensor]) -> Tensor:
        total = self.aggregator.init(rows[0])
        for row in rows:
            total = self.aggregator.add(total, row, 1)
        return self.aggregator.finish(total)


def rule_of(aggregator: Aggregator) -> Rule:
    """What combines the rows, as something that attackers can try out."""
    return aggregator.rule if isinstance(aggregator, AllRows) else Averaged(aggregator=aggregator)


def require_rule(rule: Rule | None, attack: str) -> Rule:
    """The rule, or an error that says where it comes from."""
    if rule is None:
        raise InvalidValue(
            f"{attack} needs to know the server's rule: give one (rule), or stage the attack on an algorithm"
        )
    return rule


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """The server's rule, tried out on the honest rows of a round and rows that the attackers think of."""

    rule: Rule
    honest: Tensor
    users: tuple[int, ...]
    bound: float
    sight: Sight

    @classmethod
    def of(cls, rule: Rule, sight: Sight, attack: str) -> Rehearsal:
        """Every row is clipped as the server clips it: before the rule sees it."""
        bound = sight.bounds[0] if len(sight.bounds) == 1 else math.inf
        honest = [_clipped(row, bound) for row in honest_rows(sight, attack)]
        rows = torch.stack(honest) if honest else sight.parameters.new_zeros(0, len(sight.parameters))
        honest_users = sight.honest_users
        if len(honest_users) != len(rows):  # somebody else's sight, without names
            honest_users = tuple(range(-len(rows), 0))
        return cls(rule, rows, (*honest_users, *sorted(sight.own)), bound, sight)

    @property
    def mean(self) -> Tensor:
        """What a server would get without attackers: the mean of the honest rows."""
        return self.honest.double().mean(dim=0)

    def outcome(self, row: Tensor) -> Tensor | None:
        """What the rule makes of the round if all attackers send this row; None if it keeps the model."""
        return self.outcome_of([row] * (len(self.users) - len(self.honest)))

    def outcome_of(self, rows: list[Tensor]) -> Tensor | None:
        """What the rule makes of the round if the attackers, ascending, send these rows.

        A rule that watches rounds is asked with what it remembers, and with chances of the attackers' own:
        they do not know the server's.
        """
        sent = [_clipped(row.to(self.honest.dtype), self.bound) for row in rows]
        rows = [*self.honest, *sent]
        if len(rows) < self.rule.least_rows or not all(bool(torch.isfinite(row).all()) for row in sent):
            return None
        if not isinstance(self.rule, WatchingRule):
            return self.rule.combine(rows)
        watched = Watched(
            round=self.sight.round,
            users=self.users,
            parameters=self.sight.parameters,
            memory=self.sight.memory or self.rule.first_memory(self.sight.parameters),
            rng=np.random.default_rng(self.sight.round),
        )
        return self.rule.combine_watched(rows, watched)[0]

    def distance(self, row: Tensor) -> float:
        """How far the outcome is from the mean of the honest rows; 0 where the model is kept."""
        outcome = self.outcome(row)
        return 0.0 if outcome is None else l2_norm(outcome - self.mean)


def best_factor(gain: Callable[[float], float], largest: float, steps: int) -> float:
    """The factor in (0, largest] with the largest gain that two passes of equal steps find.

    The first pass tries largest · i / steps for i = 1, ..., steps; the second as many again between the
    neighbours of the best of these. Of equal gains the smallest factor wins. A gain may jump, as Krum's
    choice does, so nothing that counts on a slope is used.

    >>> best_factor(lambda x: x if x <= 3.35 else 0.0, 10.0, 10)
    3.3
    """
    width = largest / steps
    coarse = [width * i for i in range(1, steps + 1)]
    gains = {factor: gain(factor) for factor in coarse}
    best = max(coarse, key=lambda factor: gains[factor])
    for i in range(1, steps):
        for factor in (best - width * i / steps, best + width * i / steps):
            if 0 < factor <= largest:
                gains[factor] = gain(factor)
    most = max(gains.values())
    return min(factor for factor in gains if gains[factor] == most)


def _clipped(row: Tensor, bound: float) -> Tensor:
    return clip_to(row, l2_norm(row), bound)
