"""One epoch of random allocation against one user: what a group's curve asks of a round."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fedward.privacy.allocated_release import discretise_allocation, ends_of
from fedward.privacy.losses import Losses


@dataclass(frozen=True, kw_only=True)
class AllocatedEpoch:
    """What an epoch shows of one user who takes part in one of its rounds, drawn uniformly.

    Args:
      epoch: E, how many rounds it has.
      noise_multiplier: z.
      tail: how much of either law may be moved to infinitely large losses.
    """

    epoch: int
    noise_multiplier: float
    tail: float

    def spread(self) -> float:
        """About the standard deviation of the loss."""
        return math.sqrt(math.log1p(math.expm1(min(self.noise_multiplier**-2, 700.0)) / self.epoch))

    def span(self) -> float:
        """How far the losses reach at most, up to the tails."""
        low, high = ends_of(self.epoch, self.noise_multiplier, self.tail)
        return (high - low) / self.noise_multiplier + math.log(self.epoch)

    def losses(self, step: float) -> tuple[Losses, Losses]:
        """The losses log(mixture/base) under the mixture and log(base/mixture) under the base, on a grid.

        Guarantee: that of ``discretise_allocation`` but for its ``blur``, by which a curve moves no further
        than it is rounded up.
        """
        release = discretise_allocation(self.epoch, self.noise_multiplier, self.tail, step)
        return release.removed, release.added
