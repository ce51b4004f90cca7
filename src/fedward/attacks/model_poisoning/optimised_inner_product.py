"""Inner product manipulation by attackers that choose the factor against the server's rule."""

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
class OptimisedInnerProduct:
    """All attackers send the honest mean backwards, by the factor that the server's rule suffers most from.

        Δ ← -ε* μ,    ε* = argmax_ε ‖F(Δ_1, ..., Δ_h, -εμ, ..., -εμ) - μ‖₂,    μ = (1/h) Σ_i Δ_i

    F is the server's rule, of which the attackers know everything, over the h honest rows and theirs, each
    clipped as the server clips. A search over factors up to `largest` finds ε*. Where the rule would keep the
    model, nothing is gained. A cohort without honest rows has no mean to oppose: zeros are sent.

    Args:
      rule: the rule that the attackers count on; the one that the server really has if not given.
      largest: the largest factor that is tried.
      steps: how many factors are tried evenly up to it, and how many times two again around the best of them.

    >>> from fedward.aggregation import Mean, CoordinateMedian
    >>> honest = torch.tensor([[1.0, 2.0], [3.0, 2.0], [2.0, 2.0]])
    >>> sight = Sight(
    ...     round=0,
    ...     parameters=torch.zeros(2),
    ...     bounds=(),
    ...     own={7: torch.zeros(2)},
    ...     cohort=(1, 2, 3, 7),
    ...     honest=honest,
    ... )
    >>> attack = OptimisedInnerProduct(rule=CoordinateMedian(), largest=10.0)
    >>> bool((attack.tamper(torch.zeros(2), sight, np.random.default_rng(0)) < 0).all())
    True

    Xie, Koyejo, Gupta 2019; Allouah et al. 2023 for the search.
    """

    rule: Rule | None = None
    largest: float = 10.0
    steps: int = 10

    needs: ClassVar[Knowledge] = "cohort"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=True, discards_update=True, adapts=True)

    def __post_init__(self) -> None:
        positive("largest factor", self.largest)
        whole("number of steps", self.steps)

    def against(self, aggregator: Aggregator) -> OptimisedInnerProduct:
        """The attack by somebody who knows this aggregator."""
        return self if self.rule is not None else replace(self, rule=rule_of(aggregator))

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return as_sent(agreed(self, sight, lambda: self._row(sight)), update)

    def _row(self, sight: Sight) -> Tensor:
        rule = require_rule(self.rule, "optimised_inner_product")
        rehearsal = Rehearsal.of(rule, sight, "optimised inner-product manipulation")
        if not len(rehearsal.honest):
            return torch.zeros_like(sight.parameters)
        mean = rehearsal.mean
        factor = best_factor(lambda factor: rehearsal.distance(-factor * mean), self.largest, self.steps)
        return -factor * mean
