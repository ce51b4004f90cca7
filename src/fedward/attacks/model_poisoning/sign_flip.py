"""The sign-flip attack: attackers send the opposite of the update that they trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.scale import scale_update
from fedward.base.validate import positive
from fedward.core.types import Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class SignFlip:
    """The attacker trains as everybody does and sends the opposite.

        Δ ← -γ Δ

    It has no target: it keeps the model from learning. A server that clips leaves its direction.

    Args:
      factor: γ: attackers send their update times minus this.

    >>> import torch
    >>> sight = Sight(round=0, parameters=torch.zeros(2), bounds=(), own={})
    >>> SignFlip().tamper(torch.tensor([0.5, -1.0]), sight, np.random.default_rng(0))
    tensor([-0.5000,  1.0000])

    Li, Xu, Chen, Giannakis, Ling 2019.
    """

    factor: float = 1.0

    needs: ClassVar[Knowledge] = "own"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=False)

    def __post_init__(self) -> None:
        positive("scale factor", self.factor)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return scale_update(update, -self.factor)
