"""FoolsGold: users whose updates have always pointed the same way as another's count less."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedward.aggregation.all_rows import combine_alone
from fedward.aggregation.angles import cosine_distances
from fedward.aggregation.rows import weighted_sum
from fedward.base.validate import positive, whole
from fedward.core.types import Memory, Watched


@dataclass(frozen=True, kw_only=True)
class FoolsGold:
    """Rows weighted by how unlike the history of each user is to those of all others.

        H_i = Σ_t Δ_i,t,    c_ij = cos(H_i, H_j),    v_i = max(0, max_{j ≠ i} c_ij)
        c_ij <- c_ij v_i / v_j where v_j > v_i,    α_i = 1 - max_j c_ij, cut to [0, 1], divided by the largest
        α_i <- κ (ln(α_i / (1 - α_i)) + 0.5), cut to [0, 1],    Δ = (1/n) Σ_i α_i Δ_i

    i and j are the users of the round, compared by all that each has sent so far. Users that send the same
    again and again, as copies of one attacker do, count nothing. Users with like data look like that too; one
    attacker alone does not. It remembers the sums of all users that took part.

    Done differently: the paper adds the weighted rows up, here they are averaged, so that weights of 1 give
    the mean. Its choice of indicative features is the last coordinates here (those of the output layer).

    No guarantee of privacy: weights follow from all rows of all rounds. It has no sensitivity and takes no
    noise.

    Args:
      confidence: κ.
      compared: how many of the last coordinates are compared; all if not given.

    >>> rows = [[1.0, 0.0], [0.0, 1.0], [5.0, 5.0], [5.0, 5.0]]
    >>> FoolsGold().combine([torch.tensor(row) for row in rows])
    tensor([0.2500, 0.2500], dtype=torch.float64)

    Fung, Yoon, Beschastnikh 2020, algorithm 1.
    """

    confidence: float = 1.0
    compared: int | None = None

    least_rows: ClassVar[int] = 1
    knows_users: ClassVar[bool] = True
    root_user: ClassVar[int | None] = None
    own_noise: ClassVar[str] = ""

    def __post_init__(self) -> None:
        positive("confidence", self.confidence)
        if self.compared is not None:
            whole("number of compared coordinates", self.compared)

    def first_memory(self, parameters: Tensor) -> Memory:
        """The users that took part so far, and the sum of each one's rows."""
        size = len(self._last(parameters))
        return torch.zeros(0, dtype=torch.int64), torch.zeros(0, size, dtype=torch.float64)

    def combine(self, rows: list[Tensor]) -> Tensor:
        return combine_alone(self, rows)

    def combine_watched(self, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        known, sums = watched.memory
        history = dict(zip(known.tolist(), sums.clone(), strict=True))
        for user, row in zip(watched.users, rows, strict=True):
            last = self._last(row).double()
            history[user] = history[user] + last if user in history else last.clone()
        weights = fools_gold_weights([history[user] for user in watched.users], self.confidence)
        total = weighted_sum(rows, [weight / len(rows) for weight in weights])
        users = sorted(history)
        return total, (torch.tensor(users, dtype=torch.int64), torch.stack([history[u] for u in users]))

    def _last(self, row: Tensor) -> Tensor:
        return row if self.compared is None else row[-self.compared :]


def fools_gold_weights(histories: list[Tensor], confidence: float) -> list[float]:
    """α for each user, from the histories; one user alone has nobody to be like, and counts whole."""
    if len(histories) == 1:
        return [1.0]
    alike = 1 - cosine_distances(histories)
    alike.fill_diagonal_(-math.inf)
    most = alike.max(dim=1).values.clamp(min=0)  # below 0 a pardon would turn signs
    # v_j > v_i, and v_j = 0 has nothing to be divided by: such rows are like nobody anyway.
    pardoned = (most[None, :] > most[:, None]) & (most[None, :] != 0)
    ratio = most[:, None] / torch.where(most[None, :] != 0, most[None, :], torch.ones_like(most)[None, :])
    alike = torch.where(pardoned, alike * ratio, alike).fill_diagonal_(-math.inf)
    weights = (1 - alike.max(dim=1).values).clamp(0, 1)
    largest = float(weights.max())
    return [_logit(weight / largest, confidence) if largest > 0 else 0.0 for weight in weights.tolist()]


def _logit(weight: float, confidence: float) -> float:
    if weight in (0.0, 1.0):
        return weight
    return min(1.0, max(0.0, confidence * (math.log(weight / (1 - weight)) + 0.5)))
