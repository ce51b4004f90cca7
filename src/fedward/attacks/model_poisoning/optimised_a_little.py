"""A shift of every coordinate by as many deviations as hurt the server's rule most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation import Rule
from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.agreed_row import agreed, as_sent
from fedward.attacks.model_poisoning.known_defence import Rehearsal, best_factor, require_rule, rule_of
from fedward.base.validate import positive, whole
from fedward.core.types import Aggregator, Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class OptimisedALittle:
    """All attackers send the honest mean, moved by the number of deviations that the rule suffers most from.

        Δ ← μ - z* σ,    z* = argmax_z ‖F(Δ_1, ..., Δ_h, μ - zσ, ..., μ - zσ) - μ‖₂

    μ and σ are the mean and the deviation of every coordinate of the h honest rows (as the server clips
    them), F is the server's rule, of which the attackers know everything. A search over z up to `largest`
    finds z*. Where the rule would keep the model, nothing is gained. A cohort without honest rows shows
    nothing to hide among: zeros are sent.

    Args:
      rule: the rule that the attackers count on; the one that the server really has if not given.
      largest: the largest number of deviations that is tried.
      steps: how many are tried evenly up to it, and how many times two again around the best of them.

    >>> from fedward.aggregation import CoordinateMedian
    >>> honest = torch.tensor([[1.0], [2.0], [4.0]])
    >>> sight = Sight(
    ...     round=0,
    ...     parameters=torch.zeros(1),
    ...     bounds=(),
    ...     own={7: torch.zeros(1)},
    ...     cohort=(1, 2, 3, 7),
    ...     honest=honest,
    ... )
    >>> attack = OptimisedALittle(rule=CoordinateMedian())
    >>> bool(attack.tamper(torch.zeros(1), sight, np.random.default_rng(0)) <= 1.0)
    True

    Baruch, Baruch, Goldberg 2019; Allouah et al. 2023 for the search.
    """

    rule: Rule | None = None
    largest: float = 10.0
    steps: int = 10

    needs: ClassVar[Knowledge] = "cohort"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=True, discards_update=True, adapts=True)

    def __post_init__(self) -> None:
        positive("largest number of deviations", self.largest)
        whole("number of steps", self.steps)

    def against(self, aggregator: Aggregator) -> OptimisedALittle:
        """The attack by somebody who knows this aggregator."""
        return self if self.rule is not None else replace(self, rule=rule_of(aggregator))

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return as_sent(agreed(self, sight, lambda: self._row(sight)), update)

    def _row(self, sight: Sight) -> Tensor:
        rule = require_rule(self.rule, "optimised_a_little")
        rehearsal = Rehearsal.of(rule, sight, "optimised a-little-is-enough")
        if not len(rehearsal.honest):
            return torch.zeros_like(sight.parameters)
        mean, std = rehearsal.mean, rehearsal.honest.double().std(dim=0, correction=0)
        deviations = best_factor(lambda z: rehearsal.distance(mean - z * std), self.largest, self.steps)
        return mean - deviations * std
