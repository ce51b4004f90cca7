"""A backdoor by attackers that know the defence: as much of it as the rule lets through."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation import Rule
from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.agreed_row import agreed, as_sent
from fedward.attacks.model_poisoning.known_defence import Rehearsal, best_factor, require_rule, rule_of
from fedward.attacks.model_poisoning.visible_rows import own_rows
from fedward.base.validate import InvalidType, InvalidValue, non_negative, positive, whole
from fedward.clipping.norms import l2_norm
from fedward.core.types import Aggregator, Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class AdaptiveBackdoor:
    """The attackers send the honest mean, moved towards what they trained as far as pays under the rule.

        Δ_i ← μ + γ* b + ρ* γ* ‖b‖ e_i,    b = (mean of the attackers' rows) - μ
        (γ*, ρ*) = argmax ⟨F(honest rows, Δ_1, ..., Δ_m) - μ, b⟩ / ‖b‖

    F is the server's rule, of which the attackers know everything, what it remembers included; μ is the mean
    of the honest rows, each row clipped as the server clips. What the rule throws out moves nothing, so the
    best γ is one that it accepts. e_i are random vectors of length 1 that add up to zero: with ρ above 0 the
    rows differ, against rules that look for equal ones (FoolsGold). γ is searched up to `largest` for every
    ρ. Without honest rows there is nobody to hide among, and the attackers' mean is sent.

    Bad data decide where b leads: give some under ``data``. It reads rows as they were trained, so among
    several model poisonings it comes first.

    Args:
      rule: the rule that the attackers count on; the one that the server really has if not given.
      largest: the largest γ that is tried.
      steps: how many γ are tried evenly up to it, and how many times two again around the best of them.
      spreads: the ρ that are tried.

    >>> from fedward.aggregation import CoordinateMedian
    >>> honest = torch.tensor([[0.0], [0.1], [0.2], [0.3]])
    >>> own = {7: torch.tensor([5.0]), 8: torch.tensor([5.0])}
    >>> sight = Sight(
    ...     round=0, parameters=torch.zeros(1), bounds=(), own=own, cohort=(1, 2, 3, 4, 7, 8), honest=honest
    ... )
    >>> attack = AdaptiveBackdoor(rule=CoordinateMedian(), spreads=(0.0,))
    >>> float(attack.tamper(own[7], sight, np.random.default_rng(0))) >= 0.3
    True

    Shejwalkar, Houmansadr 2021, for attacks fitted to the rule.
    """

    rule: Rule | None = None
    largest: float = 5.0
    steps: int = 10
    spreads: tuple[float, ...] = (0.0, 1.0)

    needs: ClassVar[Knowledge] = "cohort"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=True, adapts=True)

    def __post_init__(self) -> None:
        positive("largest factor", self.largest)
        whole("number of steps", self.steps)
        if not isinstance(self.spreads, tuple):
            raise InvalidType(f"spreads must be a tuple of numbers, got {self.spreads!r}")
        if not self.spreads:
            raise InvalidValue("spreads must hold at least one number, got none")
        for spread in self.spreads:
            non_negative("spread", spread)

    def against(self, aggregator: Aggregator) -> AdaptiveBackdoor:
        """The attack by somebody who knows this aggregator."""
        return self if self.rule is not None else replace(self, rule=rule_of(aggregator))

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        rows = agreed(self, sight, lambda: self._rows(update, sight, rng))
        mine = [user for user, row in sight.own.items() if torch.equal(row, update)]
        return as_sent(rows[mine[0]] if mine else next(iter(rows.values())), update)

    def _rows(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Mapping[int, Tensor]:
        """The row of each attacker."""
        rehearsal = Rehearsal.of(require_rule(self.rule, "adaptive_backdoor"), sight, "the adaptive backdoor")
        users = sorted(sight.own) or [0]
        wanted = own_rows(update, sight).double().mean(dim=0)
        if not len(rehearsal.honest):
            return dict.fromkeys(users, wanted)
        mean = rehearsal.mean
        towards = wanted - mean
        length = l2_norm(towards)
        if length == 0:
            return dict.fromkeys(users, wanted)
        apart = _apart(len(users), len(mean), rng)

        def rows(factor: float, spread: float) -> list[Tensor]:
            return [mean + factor * (towards + spread * length * each) for each in apart]

        def gain(factor: float, spread: float) -> float:
            outcome = rehearsal.outcome_of(rows(factor, spread))
            return -math.inf if outcome is None else float((outcome - mean) @ towards) / length

        tried = []
        for spread in self.spreads:
            factor = best_factor(partial(gain, spread=spread), self.largest, self.steps)
            tried.append((gain(factor, spread), factor, spread))
        _, factor, spread = max(tried, key=lambda each: each[0])  # of equal gains the first
        return dict(zip(users, rows(factor, spread), strict=True))


def _apart(count: int, size: int, rng: np.random.Generator) -> list[Tensor]:
    """Random vectors of (nearly) length 1 that add up to zero; one alone is zero."""
    drawn = torch.from_numpy(rng.standard_normal((count, size)))
    drawn = drawn - drawn.mean(dim=0)
    lengths = torch.linalg.vector_norm(drawn, dim=1).mean()
    return list(drawn / lengths if lengths > 0 else drawn)
