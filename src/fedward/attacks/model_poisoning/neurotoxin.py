"""Neurotoxin: a backdoor that keeps to the parameters that others hardly move, so that it stays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.scale import scale_update
from fedward.base.validate import half_open_unit, positive
from fedward.core.types import Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class Neurotoxin:
    """The update without the coordinates that the model has moved most in since the round before.

        Δ ← γ Δ ⊙ m,    m_j = 0 for the ⌈k d⌉ largest |w_t,j - w_{t-1},j|, 1 elsewhere

    What honest users do not move they do not move back: a backdoor planted there outlasts its attackers. Of
    equally large moves those of earlier coordinates are left out. In round 0, and where the model did not
    move, nothing is left out. The attackers must have been sent the model of the round before.

    Done differently: the paper projects every local step; here the finished update is projected.

    Args:
      share: k, the share of the coordinates that are left alone.
      factor: γ: attackers send what is left times this.

    >>> sight = Sight(
    ...     round=1, parameters=torch.tensor([9.0, 1.0]), bounds=(), own={}, previous=torch.tensor([0.0, 0.9])
    ... )
    >>> Neurotoxin(share=0.5).tamper(torch.tensor([0.5, -1.0]), sight, np.random.default_rng(0))
    tensor([ 0., -1.])

    Zhang et al. 2022, *Neurotoxin: Durable Backdoors in Federated Learning*.
    """

    share: float = 0.05
    factor: float = 1.0

    needs: ClassVar[Knowledge] = "own"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=False, compares_models=True)

    def __post_init__(self) -> None:
        half_open_unit("share of the coordinates", self.share)
        positive("scale factor", self.factor)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        if sight.previous is not None:
            moved = (sight.parameters.double() - sight.previous.double()).abs()
            if bool(moved.any()):
                count = math.ceil(self.share * len(moved))
                most = torch.argsort(moved, descending=True, stable=True)[:count]
                update = update.clone()
                update[most] = 0
        return scale_update(update, self.factor)
