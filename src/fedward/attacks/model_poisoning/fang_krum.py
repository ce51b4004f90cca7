"""Fang et al.'s attack on Krum: the row farthest against the direction of learning that Krum still takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation.krum import krum_scores
from fedward.aggregation.rows import squared_distances
from fedward.attacks.attack_types import Conduct
from fedward.attacks.model_poisoning.agreed_row import agreed, as_sent
from fedward.attacks.model_poisoning.visible_rows import honest_rows, own_rows
from fedward.base.validate import non_negative, positive, whole
from fedward.core.types import Knowledge, Sight


@dataclass(frozen=True, kw_only=True)
class FangKrum:
    """Attackers move the model against the way that it would go, as far as Krum still takes their row.

        Δ_1 ← -λ s,    λ = max {λ : Krum(Δ_1, ..., Δ_1, honest rows) = Δ_1},    ‖Δ_i - Δ_1‖₂ ≤ ε for i > 1

    s holds the signs (1 for zero) of Krum's choice among the rows as they were trained. λ is halved from an
    upper bound of the paper until Krum would take the row, or λ ≤ `threshold`:

        λ ≤ √(min_i Σ_{j among the n - c - 2 nearest of i} ‖Δ_i - Δ_j‖² / ((n - 2c - 1) d)) + max_i ‖Δ_i‖ / √d

    over the honest rows, for c attackers of n users and d parameters (n - 2c - 1 counts as at least 1).

    Attackers who know their own rows only take the rows that they have trained for the honest ones (s is
    the signs of their mean) and look for a λ at which Krum, expecting q bad rows, takes one of q crafted
    rows; q grows from 1 to c until there is one. It counts on Krum, whatever the server uses. It reads rows
    as they were trained, so among several model poisonings it comes first.

    Args:
      malicious: f, how many bad rows Krum expects; the number of attackers in the cohort if not given.
      spread: ε, how far from the first row the other attackers' may lie. They are drawn from a ball of that
        radius.
      threshold: the λ below which the search gives up and sends what it has.

    >>> honest = torch.tensor([[1.0, 1.0], [1.2, 1.0], [1.0, 1.2], [1.1, 1.1], [1.2, 1.2]])
    >>> own = {7: torch.tensor([1.0, 1.1]), 8: torch.tensor([1.1, 1.0])}
    >>> sight = Sight(
    ...     round=0, parameters=torch.zeros(2), bounds=(), own=own, cohort=tuple(range(7)), honest=honest
    ... )
    >>> FangKrum().tamper(own[7], sight, np.random.default_rng(0)).sign()
    tensor([-1., -1.])

    Fang, Cao, Jia, Gong 2020, section 4.2.
    """

    malicious: int | None = None
    spread: float = 0.0
    threshold: float = 1e-5

    needs: ClassVar[Knowledge] = "own"
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=True)

    def __post_init__(self) -> None:
        if self.malicious is not None:
            whole("number of malicious rows", self.malicious, at_least=0)
        non_negative("spread", self.spread)
        positive("threshold", self.threshold)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        row = agreed(self, sight, lambda: self._row(update, sight))
        first = not sight.own or torch.equal(update, next(iter(sight.own.values())))
        if self.spread > 0 and not first:
            row = row + _in_ball(len(row), self.spread, rng)
        return as_sent(row, update)

    def _row(self, update: Tensor, sight: Sight) -> Tensor:
        own = own_rows(update, sight).double()
        honest = own[:0] if sight.honest is None else honest_rows(sight, "fang_krum").double()
        attackers = max(1, len(sight.own))
        if len(honest):
            expected = attackers if self.malicious is None else self.malicious
            signs = _signs(_krum(torch.cat([honest, own]), expected))
            return -self._reach(honest, signs, attackers, expected)[0] * signs
        signs = _signs(own.mean(dim=0))
        reach = 0.0
        for crafted in range(1, attackers + 1):
            reach, taken = self._reach(own, signs, crafted, crafted)
            if taken:
                break
        return -reach * signs

    def _reach(self, rows: Tensor, signs: Tensor, crafted: int, expected: int) -> tuple[float, bool]:
        """λ, and whether Krum takes -λ s beside these rows."""
        among = _Among.of(rows, signs)
        reach = among.upper_bound(crafted)
        while reach > self.threshold:
            if among.takes(reach, crafted, expected):
                return reach, True
            reach /= 2
        return reach, False


@dataclass(frozen=True, eq=False)
class _Among:
    """The squared distances that Krum would compute for crafted rows -λ s beside some rows, for any λ."""

    squared: Tensor
    norms: Tensor
    inner: Tensor
    size: int

    @classmethod
    def of(cls, rows: Tensor, signs: Tensor) -> _Among:
        return cls(
            squared_distances(list(rows))[0], rows.square().sum(1), rows @ signs, int(signs.square().sum())
        )

    def upper_bound(self, crafted: int) -> float:
        rows = len(self.squared)
        users = rows + crafted
        nearest = krum_scores(self.squared, min(rows - 1, max(1, users - crafted - 2)))
        share = max(1, users - 2 * crafted - 1) * self.size
        return math.sqrt(float(nearest.min()) / share) + math.sqrt(float(self.norms.max()) / self.size)

    def takes(self, reach: float, crafted: int, expected: int) -> bool:
        """Whether the best score is that of a crafted row; of equal scores the others' count as better."""
        rows = len(self.squared)
        users = rows + crafted
        away = (self.norms + 2 * reach * self.inner + reach**2 * self.size).clamp(min=0)
        squared = torch.zeros(users, users, dtype=torch.float64)
        squared[:rows, :rows] = self.squared
        squared[:rows, rows:] = away[:, None]
        squared[rows:, :rows] = away[None, :]
        scores = krum_scores(squared, max(1, users - expected - 2))
        return float(scores[rows:].min()) < float(scores[:rows].min())


def _krum(rows: Tensor, malicious: int) -> Tensor:
    scores = krum_scores(squared_distances(list(rows))[0], max(1, len(rows) - malicious - 2))
    return rows[int(torch.argmin(scores))]


def _signs(row: Tensor) -> Tensor:
    ones = torch.ones_like(row, dtype=torch.float64)
    return torch.where(row >= 0, ones, -ones)


def _in_ball(size: int, radius: float, rng: np.random.Generator) -> Tensor:
    """A point drawn from a ball."""
    direction = torch.from_numpy(rng.standard_normal(size))
    length = radius * float(rng.random()) ** (1 / size)
    point: Tensor = direction * (length / max(float(torch.linalg.vector_norm(direction)), 1e-300))
    return point
