"""Attackers that vouch for each other: one row, sent by all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.visible_rows import own_rows
from fedward.base.validate import half_open_unit
from fedward.core.types import Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class Collude:
    """Every attacker sends the mean of what all attackers have trained, or comes close to it.

        Δ_i ← μ + s (Δ_i - μ),    μ = (1/m) Σ_j Δ_j over the m attackers in the cohort

    A rule that trusts rows with near neighbours (Krum) counts m - 1 neighbours at distance zero for each of
    them, and averaging has taken out what set them apart from the honest rows by chance: μ is nearer to an
    honest row than two honest rows are to each other, unless the bad data leads away by more than honest
    rows scatter. Where m - 1 is at least the number of neighbours that Krum counts, it always chooses μ.
    Against a plain mean nothing is gained or lost: the attackers' rows have the same sum as before. A single
    attacker sends its own row. It reads rows as they were trained, so among several model poisonings it
    comes first.

    Args:
      spread: s, in [0, 1): how much of its own each attacker keeps, against rules that look for equal rows.

    >>> import torch
    >>> own = {0: torch.tensor([1.0, 4.0]), 7: torch.tensor([3.0, 4.0])}
    >>> sight = Sight(round=0, parameters=torch.zeros(2), bounds=(), own=own)
    >>> [Collude().tamper(own[user], sight, np.random.default_rng(0)).tolist() for user in own]
    [[2.0, 4.0], [2.0, 4.0]]
    >>> Collude(spread=0.5).tamper(own[0], sight, np.random.default_rng(0))
    tensor([1.5000, 4.0000])

    Miao et al., section 5.2, on why Krum fails; Blanchard et al. 2017 define Krum.
    """

    spread: float = 0.0

    needs: ClassVar[Knowledge] = "own"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=True)

    def __post_init__(self) -> None:
        half_open_unit("spread", self.spread)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        mean = own_rows(update, sight).double().mean(dim=0)
        if self.spread == 0:  # an attacker whose own training came to no finite end sends the mean as well
            return mean.to(update.dtype)
        return (mean + self.spread * (update.double() - mean)).to(update.dtype)
