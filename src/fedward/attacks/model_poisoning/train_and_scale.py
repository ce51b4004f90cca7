"""Model replacement by an attacker that trains in its own way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.scale import scale_update
from fedward.base.validate import InvalidType, positive
from fedward.core.check_rounds import decisive
from fedward.core.types import Bounds, Knowledge, LocalTrainer, PrivateTrainer, Sight


@dataclass(frozen=True, kw_only=True)
class TrainAndScale:
    """The attacker trains with its own learning rate and epochs, and sends γ times what it got.

        Δ ← Δ · min(γ, S / ‖Δ‖₂)

    Guarantee: with a norm S, the row that is sent is never longer, so that a server that clips at S or
    rejects what is longer takes it whole. Without one it is γΔ, however long that is.

    Args:
      local: what the attacker trains with, instead of what the server asked for.
      factor: γ: attackers send their update times this.
      norm: S, the length that the attacker keeps to; None for no limit.

    >>> import torch
    >>> from fedward.local import SGD
    >>> mine = SGD(learning_rate=0.04, batch_size=10, epochs=50)
    >>> attack = TrainAndScale(local=mine, factor=20.0, norm=1.0)
    >>> attack.trainer(SGD(learning_rate=0.1, batch_size=10, epochs=1), 250, (0.5,)) == mine
    True
    >>> sight = Sight(round=250, parameters=torch.zeros(2), bounds=(0.5,), own={})
    >>> attack.tamper(torch.tensor([0.0, -0.03]), sight, np.random.default_rng(0))
    tensor([ 0.0000, -0.6000])

    Bagdasaryan et al. 2020; Miao et al., section 5.1, with learning rate 0.04 and 50 epochs in
    rounds 250, 270 and 290.
    """

    local: LocalTrainer
    factor: float
    norm: float | None = None

    needs: ClassVar[Knowledge] = "own"

    def __post_init__(self) -> None:
        if not (hasattr(self.local, "at_round") and hasattr(self.local, "train")):
            raise InvalidType(f"the attacker's local training must be a local trainer, got {self.local!r}")
        positive("scale factor", self.factor)
        if self.norm is not None:
            positive("norm that the attacker keeps to", self.norm)

    @property
    def conduct(self) -> Conduct:
        private = isinstance(self.local, PrivateTrainer)
        return Conduct(needs_all_rows=False, trains_its_own_way=True, skips_local_privacy=not private)

    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
        return self.local.at_round(round, bounds)

    def decisive_rounds(self, rounds: int) -> Iterable[int]:
        return decisive(self.local, rounds)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return scale_update(update, self.factor, self.norm)
