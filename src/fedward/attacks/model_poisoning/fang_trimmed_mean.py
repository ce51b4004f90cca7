"""Fang et al.'s attack on the trimmed mean: values just beyond the honest ones, on the wrong side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation.trimmed_mean import TrimmedMean
from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.agreed_row import agreed
from fedward.attacks.model_poisoning.visible_rows import honest_rows, own_rows
from fedward.base.validate import InvalidValue, positive, whole
from fedward.core.types import Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class FangTrimmedMean:
    """Every attacker sends, coordinate by coordinate, a value just beyond all honest ones, on the wrong side.

        w_j drawn from [max_j, b max_j] if s_j = -1 and max_j > 0,    [max_j, max_j / b] if s_j = -1 and not
        w_j drawn from [min_j / b, min_j] if s_j = 1 and min_j > 0,   [b min_j, min_j] if s_j = 1 and not
        Δ ← w - w_t

    min_j and max_j are over the honest users' *models* w_t + Δ_i, and s_j is the sign (1 for zero) of the
    trimmed mean of all updates as they were trained: whether the parameter would grow. Trimming cuts off as
    many extreme values as it expects attackers, and those are theirs: what is left leans the wrong way. The
    median leans with it.

    Attackers who know their own rows only go by mean μ and deviation σ of the models that they have trained
    (s is the signs of their mean update):

        w_j drawn from [μ_j + 3σ_j, μ_j + 4σ_j] if s_j = -1,    [μ_j - 4σ_j, μ_j - 3σ_j] if s_j = 1

    Every attacker draws its own values. It reads rows as they were trained, so among several model poisonings
    it comes first.

    Args:
      trimmed: how many values the server cuts off on each side; the number of attackers in the cohort if not
        given. It matters for s alone.
      factor: b, above 1.

    >>> honest = torch.tensor([[1.0], [2.0], [3.0]])
    >>> sight = Sight(
    ...     round=0,
    ...     parameters=torch.zeros(1),
    ...     bounds=(),
    ...     own={9: torch.ones(1)},
    ...     cohort=(1, 2, 3, 9),
    ...     honest=honest,
    ... )
    >>> row = FangTrimmedMean().tamper(torch.ones(1), sight, np.random.default_rng(0))
    >>> bool(0.5 <= row <= 1.0)
    True

    Fang, Cao, Jia, Gong 2020, section 4.3.
    """

    trimmed: int | None = None
    factor: float = 2.0

    needs: ClassVar[Knowledge] = "own"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=True)

    def __post_init__(self) -> None:
        if self.trimmed is not None:
            whole("number of trimmed rows", self.trimmed, at_least=0)
        positive("factor", self.factor)
        if self.factor <= 1:
            raise InvalidValue(f"factor must be above 1, got {self.factor}")

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        low, high = agreed(self, sight, lambda: self._interval(update, sight))
        share = torch.from_numpy(rng.random(len(low)))
        return (low + share * (high - low)).to(update.dtype)

    def _interval(self, update: Tensor, sight: Sight) -> tuple[Tensor, Tensor]:
        """The least and the most that each coordinate of an update may be."""
        own = own_rows(update, sight).double()
        honest = own[:0] if sight.honest is None else honest_rows(sight, "fang_trimmed_mean").double()
        start = sight.parameters.double()
        if not len(honest):
            grows = own.mean(dim=0) >= 0
            mean, std = own.mean(dim=0), own.std(dim=0, correction=0)
            return torch.where(grows, mean - 4 * std, mean + 3 * std), torch.where(
                grows, mean - 3 * std, mean + 4 * std
            )
        everybody = [*honest, *own]
        trimmed = max(1, len(sight.own)) if self.trimmed is None else self.trimmed
        rule = TrimmedMean(trimmed=min(trimmed, (len(everybody) - 1) // 2))
        grows = rule.combine(everybody) >= 0
        least, most = honest.min(dim=0).values + start, honest.max(dim=0).values + start
        b = self.factor
        below = torch.where(least > 0, least / b, least * b)
        above = torch.where(most > 0, most * b, most / b)
        return torch.where(grows, below, most) - start, torch.where(grows, least, above) - start
