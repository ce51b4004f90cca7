"""Shrinkage of the noisy mean by what is known of its noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from fedward.base.validate import non_negative, positive
from fedward.server.move import State, move_parameters


@dataclass(frozen=True, kw_only=True)
class ServerShrinkage:
    """Shrinks the noisy mean x towards zero, and adds it: w = w + η s(x).

        without threshold    s(x) = max(0, 1 - (d - 2) τ² / ‖x‖²) x                  (d coordinates)
        with threshold c     s(x)_i = sign(x_i) max(0, |x_i| - c τ)

    τ is the standard deviation of the noise on one coordinate, which is public: z S / m̄. The first is nearer
    to the mean without noise, on average over the noise, than x is, whatever that mean is, and only shortens
    steps; it changes no prediction of a linear head that one round moves from zeros. The second is for means
    of few large coordinates.

    Args:
      noise_std: τ: the standard deviation of the noise on a coordinate of the mean. A wrong one costs
        accuracy and no privacy.
      learning_rate: η: the length of a step.
      threshold: c: coordinates shorter than so many τ become 0; the length of all is shrunk if not given.

    >>> import torch
    >>> server, mean = ServerShrinkage(noise_std=1.0, threshold=2.0), torch.tensor([3.0, -1.0, -2.5])
    >>> server.step(torch.zeros(3), mean.double(), ())[0]
    tensor([ 1.0000,  0.0000, -0.5000])

    James and Stein 1961 (the positive part); Donoho and Johnstone 1994.
    """

    noise_std: float
    learning_rate: float = 1.0
    threshold: float | None = None

    def __post_init__(self) -> None:
        positive("standard deviation of the noise", self.noise_std)
        positive("server learning rate", self.learning_rate)
        if self.threshold is not None:
            non_negative("threshold", self.threshold)

    def init(self, parameters: Tensor) -> State:
        return ()

    def step(self, parameters: Tensor, mean: Tensor, state: State) -> tuple[Tensor, State]:
        return move_parameters(parameters, self.shrink(mean.double()), self.learning_rate), ()

    def shrink(self, mean: Tensor) -> Tensor:
        """The shrunk mean."""
        if self.threshold is not None:
            return mean.sign() * (mean.abs() - self.threshold * self.noise_std).clamp_min(0.0)
        length = float(mean.norm())
        if length == 0:
            return mean
        # Not 1 - (d - 2) τ² / ‖x‖²: τ² may leave the range of numbers where τ / ‖x‖ does not.
        relative = math.sqrt(max(0, mean.numel() - 2)) * (self.noise_std / length)
        return mean * max(0.0, 1.0 - relative * relative)
