"""Inner product manipulation: attackers send the mean of the honest rows with the opposite sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.visible_rows import honest_rows
from fedward.base.validate import positive
from fedward.core.types import Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class InnerProductManipulation:
    """All attackers send the honest users' mean with the opposite sign.

        Δ ← -ε (1/h) Σ_i Δ_i    over the h honest rows

    Where the aggregate then has a negative inner product with the honest mean, the model goes uphill: with
    a plain mean that is ε > h/m for m attackers; with rules that choose near rows a small ε can be
    enough, since it brings the row near to the others. A cohort without honest rows has no mean to oppose:
    zeros are sent.

    Args:
      factor: ε: attackers send the mean of the honest updates times minus this.

    >>> sight = Sight(
    ...     round=0,
    ...     parameters=torch.zeros(2),
    ...     bounds=(),
    ...     own={0: torch.zeros(2)},
    ...     cohort=(0, 1, 2),
    ...     honest=torch.tensor([[1.0, 2.0], [3.0, 2.0]]),
    ... )
    >>> InnerProductManipulation(factor=0.5).tamper(torch.zeros(2), sight, np.random.default_rng(0))
    tensor([-1., -1.])

    Xie, Koyejo, Gupta 2019.
    """

    factor: float

    needs: ClassVar[Knowledge] = "cohort"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=True, discards_update=True)

    def __post_init__(self) -> None:
        positive("scale factor", self.factor)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        honest = honest_rows(sight, "inner-product manipulation")
        if not len(honest):
            return torch.zeros_like(update)
        return (honest.double().mean(dim=0) * -self.factor).to(update.dtype)
