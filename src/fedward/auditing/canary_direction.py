"""The directions that canaries push a model in, and how far it went there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fedward.attacks.inference.auc import Floats
from fedward.base.randomness import stream
from fedward.base.validate import InvalidValue, whole
from fedward.core.types import Bounds, Norm, total_bound

LOUD = 10.0
"""How many times the clip bound a canary sends: what is clipped makes no difference, what is not shows."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Directions:
    """Orthogonal directions, each of length 1 in every group of coordinates that is clipped apart.

    Args:
      units: one row for each direction, in double precision.
      sizes: how many coordinates each group has.
    """

    units: Tensor
    sizes: tuple[int, ...]

    @classmethod
    def draw(cls, norm: Norm, size: int, count: int, seed: int) -> Directions:
        """So many of them for models of that size, the same for the same seed.

        In groups of fewer coordinates than directions some of them are along each other there.
        """
        whole("canaries", count)
        if count > size:
            raise InvalidValue(
                f"canaries must be at most {size:,}, one for each parameter of the model, got {count:,}"
            )
        sizes = norm.sizes or (size,)
        parts = []
        for number, width in enumerate(sizes):
            normal = stream(seed, "canary", round=number).standard_normal((width, min(count, width)))
            columns = torch.linalg.qr(torch.from_numpy(normal))[0].T
            parts.append(columns[torch.arange(count) % len(columns)])
        return cls(units=torch.cat(parts, dim=1), sizes=tuple(sizes))

    def clipped(self, number: int, bounds: Bounds) -> Tensor:
        """The longest update along a direction that is within the bounds, in double precision."""
        return self.units[number] * self._scale(bounds)

    def along(self, vector: Tensor, bounds: Bounds, share: float) -> Floats:
        """How many canaries' contributions lie in each direction of what came out of a round.

        A contribution is a clipped update times ``share``, which is 1/m̄ for a mean.
        """
        scaled = vector.to(torch.float64) * self._scale(bounds)
        found: Floats = (self.units @ scaled / (share * total_bound(bounds) ** 2)).numpy()
        return found

    def _scale(self, bounds: Bounds) -> Tensor | float:
        if len(bounds) == 1:
            return bounds[0]
        each = torch.tensor(bounds, dtype=torch.float64)
        return torch.repeat_interleave(each, torch.tensor(self.sizes, dtype=torch.int64))


def length_beside(vector: Tensor, direction: Tensor) -> float:
    """The length of what is left of a vector without its part along a direction.

    >>> length_beside(torch.tensor([3.0, 4.0]), torch.tensor([2.0, 0.0]))
    4.0
    """
    along = float(vector @ direction) / float(direction.norm())
    return math.sqrt(max(0.0, float(vector @ vector) - along**2))
