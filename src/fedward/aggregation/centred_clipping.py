"""Centred clipping: every row is clipped around the result of the last round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from fedward.aggregation.all_rows import combine_alone
from fedward.base.validate import positive, whole
from fedward.clipping.norms import l2_norm
from fedward.core.types import Memory, Watched


@dataclass(frozen=True, kw_only=True)
class CentredClipping:
    """The last result, moved by the mean of the rows' clipped differences from it.

        v ← v + (1/n) Σ_i (Δ_i - v) min(1, τ / ‖Δ_i - v‖₂),    `steps` times, from the v of the last round

    A bad row moves the result by at most τ/n in a step, wherever it lies. The first v is zero; it remembers
    the last. With few steps it follows slowly where updates are longer than τ.

    No guarantee of privacy: what it starts from follows from all rows of all rounds. It has no sensitivity
    and takes no noise.

    Args:
      radius: τ: the longest that a row's difference from the centre may count.
      steps: how often the centre is moved in a round.

    >>> rule = CentredClipping(radius=1.0)
    >>> rule.combine([torch.tensor([0.5]), torch.tensor([0.7]), torch.tensor([900.0])])
    tensor([0.7333], dtype=torch.float64)

    Karimireddy, He, Jaggi 2021, algorithm 1.
    """

    radius: float
    steps: int = 1

    least_rows: ClassVar[int] = 1
    knows_users: ClassVar[bool] = False
    root_user: ClassVar[int | None] = None
    own_noise: ClassVar[str] = ""

    def __post_init__(self) -> None:
        positive("radius", self.radius)
        whole("number of steps", self.steps)

    def first_memory(self, parameters: Tensor) -> Memory:
        return (torch.zeros_like(parameters, dtype=torch.float64),)

    def combine(self, rows: list[Tensor]) -> Tensor:
        return combine_alone(self, rows)

    def combine_watched(self, rows: list[Tensor], watched: Watched) -> tuple[Tensor, Memory]:
        centre = watched.memory[0].clone()
        for _ in range(self.steps):
            move = torch.zeros_like(centre)
            for row in rows:
                away = row.double() - centre
                length = l2_norm(away)
                move.add_(away, alpha=min(1.0, self.radius / length) if length > 0 else 0.0)
            centre.add_(move, alpha=1 / len(rows))
        return centre, (centre.clone(),)
