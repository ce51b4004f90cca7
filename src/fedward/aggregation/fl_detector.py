"""FLDetector: users whose updates do not follow from their last ones are found out and left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation.all_rows import combine_alone
from fedward.aggregation.curvature import curvature_times
from fedward.aggregation.gap_statistic import upper_group
from fedward.aggregation.rows import combine_columns, mean
from fedward.base.validate import whole
from fedward.clipping.norms import l2_norm
from fedward.core.types import Memory, Watched


@dataclass(frozen=True, kw_only=True)
class FLDetector:
    """The mean of the rows of users that have not been found out.

        Δ̂_i,t = Δ_i,t-1 - B_t (w_t - w_{t-1}),    d_i = ‖Δ_i,t - Δ̂_i,t‖ / Σ_j ‖Δ_j,t - Δ̂_j,t‖
        score of i = mean of its d_i over the last `window` rounds

    B_t is the L-BFGS approximation of the curvature from the last `window` moves of the model and of the mean
    update. Once `window` rounds have scores, and the gap statistic says that the scores of a round's users
    fall into two groups, those of the upper group (2-means) are attackers: their rows never count again.
    Where nobody is left the model stays.

    Where cohorts are drawn, a user has a d_i in rounds after one in which it took part. It remembers the rows
    of the last round, the moves, the scores, and who was found out.

    Done differently: the paper stops and trains again without the attackers; here training goes on.

    No guarantee of privacy: who is left out follows from all rows of all rounds. It has no sensitivity and
    takes no noise.

    Args:
      window: how many rounds it looks back.

    >>> rule = FLDetector(window=3)
    >>> rule.combine([torch.tensor([1.0]), torch.tensor([3.0])])
    tensor([2.], dtype=torch.float64)

    Zhang, Cao, Jia, Gong 2022.
    """

    window: int = 10

    least_rows: ClassVar[int] = 1
    knows_users: ClassVar[bool] = True
    root_user: ClassVar[int | None] = None
    own_noise: ClassVar[str] = ""

    def __post_init__(self) -> None:
        whole("window", self.window)

    def first_memory(self, parameters: Tensor) -> Memory:
        return _Remembered.nothing(parameters).as_memory()

    def combine(self, rows: list[Tensor]) -> Tensor:
        return combine_alone(self, rows)

    def combine_watched(self, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        before = _Remembered.of(watched.memory)
        now = dict(zip(watched.users, (row.double() for row in rows), strict=True))
        parameters = watched.parameters.double()
        scores = before.scores[before.scores[:, 1] > watched.round - self.window]
        scores = torch.cat([scores, self._distances(before, now, parameters, watched.round)])
        caught = set(before.caught.tolist())
        if len(set(scores[:, 1].tolist())) >= self.window:
            caught |= _found_out(scores, [user for user in now if user not in caught], watched.rng)
        counted = [row for user, row in now.items() if user not in caught]
        size = len(rows[0])
        result = combine_columns(counted, mean) if counted else torch.zeros(size, dtype=torch.float64)
        moves, changes = before.moves, before.changes
        if len(before.users):  # this is not the first round
            moves = torch.cat([moves, (parameters - before.parameters)[None]])[-self.window :]
            # Updates go down where gradients go up.
            changes = torch.cat([changes, (before.mean - result)[None]])[-self.window :]
        after = _Remembered(
            users=torch.tensor(sorted(now), dtype=torch.int64),
            rows=torch.stack([now[user] for user in sorted(now)]),
            parameters=parameters.clone(),
            mean=result.clone(),
            moves=moves,
            changes=changes,
            scores=scores,
            caught=torch.tensor(sorted(caught), dtype=torch.int64),
        )
        return result, after.as_memory()

    def _distances(
        self, before: _Remembered, now: dict[int, Tensor], parameters: Tensor, round: int
    ) -> Tensor:
        """(user, round, d_i) for every user that took part in the last round too."""
        last = dict(zip(before.users.tolist(), before.rows, strict=True))
        both = sorted(set(now) & set(last))
        moved = curvature_times(before.moves, before.changes, parameters - before.parameters)
        away = [l2_norm(now[user] - (last[user] - moved)) for user in both]
        total = sum(away) or 1.0
        rows = [[user, round, distance / total] for user, distance in zip(both, away, strict=True)]
        return torch.tensor(rows, dtype=torch.float64).reshape(-1, 3)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Remembered:
    """The memory by name: of the last round its users, rows, model and mean; the moves of the model and the
    changes of the mean; (user, round, distance) for each score; who was found out."""

    users: Tensor
    rows: Tensor
    parameters: Tensor
    mean: Tensor
    moves: Tensor
    changes: Tensor
    scores: Tensor
    caught: Tensor

    @classmethod
    def nothing(cls, parameters: Tensor) -> _Remembered:
        empty = torch.zeros(0, len(parameters), dtype=torch.float64)
        nobody = torch.zeros(0, dtype=torch.int64)
        zeros = torch.zeros(len(parameters), dtype=torch.float64)
        scores = torch.zeros(0, 3, dtype=torch.float64)
        return cls(
            users=nobody,
            rows=empty,
            parameters=zeros,
            mean=zeros,
            moves=empty,
            changes=empty,
            scores=scores,
            caught=nobody,
        )

    @classmethod
    def of(cls, memory: Memory) -> _Remembered:
        names = ("users", "rows", "parameters", "mean", "moves", "changes", "scores", "caught")
        return cls(**dict(zip(names, memory, strict=True)))

    def as_memory(self) -> Memory:
        return (
            *(self.users, self.rows, self.parameters, self.mean),
            *(self.moves, self.changes, self.scores, self.caught),
        )


def _found_out(scores: Tensor, users: list[int], rng: np.random.Generator) -> set[int]:
    """Those of the users whose scores form the upper of two groups."""
    scored = [user for user in users if bool((scores[:, 0] == user).any())]
    if not scored:
        return set()
    means = np.array([float(scores[scores[:, 0] == user, 2].mean()) for user in scored])
    upper = upper_group(means, rng)
    return {user for user, above in zip(scored, upper, strict=True) if above}
