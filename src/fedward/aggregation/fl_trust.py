"""FLTrust: rows count by their angle to the update that the server trains on data of its own."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.aggregation.all_rows import combine_alone
from fedward.aggregation.angles import cosines, directions
from fedward.aggregation.rows import weighted_sum
from fedward.base.validate import whole
from fedward.clipping.norms import l2_norm
from fedward.core.types import Memory, Watched


@dataclass(frozen=True, kw_only=True)
class FLTrust:
    """Every row at the length of the server's own update, weighted by the cosine of its angle to that.

        Δ = Σ_i T_i (‖Δ_0‖ / ‖Δ_i‖) Δ_i / Σ_i T_i,    T_i = max(0, cos(Δ_i, Δ_0))

    Δ_0 is the update of the *root user*: its data are the root data set, which the server has collected and
    checked itself. It is in every cohort, trains like the others, is no attacker, and its own row does not
    count. A round without it, or in which no row has an angle below 90°, leaves the model as it was.

    No guarantee of privacy: what one user moves depends on all other rows. It has no sensitivity and takes no
    noise. The root data are not protected either.

    Args:
      root: the number of the root user, counted from 0.

    >>> rows = [[2.0, 0.0], [4.0, 0.0], [-9.0, 0.0]]
    >>> FLTrust(root=0).combine([torch.tensor(row) for row in rows])
    tensor([2., 0.], dtype=torch.float64)

    Cao, Fang, Liu, Gong 2021.
    """

    root: int

    least_rows = 2
    knows_users = True
    own_noise = ""

    def __post_init__(self) -> None:
        whole("root user", self.root, at_least=0)

    @property
    def root_user(self) -> int | None:
        return self.root

    def first_memory(self, parameters: Tensor) -> Memory:
        return ()

    def combine(self, rows: list[Tensor]) -> Tensor:
        return combine_alone(self, rows)

    def combine_watched(self, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        if self.root not in watched.users:
            return torch.zeros_like(rows[0], dtype=torch.float64), ()
        trusted = rows[watched.users.index(self.root)]
        others = [row for user, row in zip(watched.users, rows, strict=True) if user != self.root]
        scores = [max(0.0, each) for each in cosines(others, trusted)]
        trust = sum(scores)
        if trust == 0:
            return torch.zeros_like(trusted, dtype=torch.float64), ()
        units, lengths = directions(others)
        weights = [score / trust / length for score, length in zip(scores, lengths, strict=True)]
        return weighted_sum(units, weights) * l2_norm(trusted), ()
