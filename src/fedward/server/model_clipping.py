"""The clipping of the model after every step: CRFL's server."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from fedward.base.validate import positive
from fedward.server.move import State, move_parameters


@dataclass(frozen=True, kw_only=True)
class ServerModelClipping:
    """Adds the noisy mean, and clips the model to norm ρ: w = clip_ρ(w + η · mean).

        clip_ρ(w) = w / max(1, ‖w‖ / ρ)

    Guarantee: as without it, for it looks at nothing private. No two models get further apart by it, and
    what an attack has left of itself in one fades from round to round where ρ is not much longer than the
    noise: ``ParameterSmoothing``, which certifies with it. A linear model without offsets predicts the same
    whatever its length.

    Args:
      norm: ρ: the L2 norm that no model exceeds.
      learning_rate: η: the length of a step.

    >>> import torch
    >>> server = ServerModelClipping(norm=2.5)
    >>> server.step(torch.zeros(2), torch.tensor([3.0, 4.0]).double(), ())[0]
    tensor([1.5000, 2.0000])

    Xie et al. 2021 (CRFL), who clip before the noise.
    """

    norm: float
    learning_rate: float = 1.0

    def __post_init__(self) -> None:
        positive("norm of the model", self.norm)
        positive("server learning rate", self.learning_rate)

    def init(self, parameters: Tensor) -> State:
        return ()

    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        moved = move_parameters(parameters.double(), mean, self.learning_rate)
        length = float(moved.norm())
        if length > self.norm:
            moved = moved * (self.norm / length)
        return moved.to(parameters.dtype), ()
