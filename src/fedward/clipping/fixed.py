"""One bound for the whole training, or none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedward.core.types import Bounds
from fedward.core.validate import positive


@dataclass(frozen=True, kw_only=True)
class FixedBound:
    """The same bound S in every round. It looks at nothing private and costs nothing.

    >>> FixedBound(clip_bound=0.7).bound((), None)
    (0.7,)
    """

    clip_bound: float

    def __post_init__(self) -> None:
        positive("clip bound", self.clip_bound)

    @property
    def reads_norms(self) -> bool:
        return False

    @property
    def unproven(self) -> str:
        return ""

    def init(self) -> tuple[float, ...]:
        return ()

    def bound(self, policy: tuple[float, ...], norms: list[Bounds] | None) -> Bounds:
        return (self.clip_bound,)

    def move(
        self, policy: tuple[float, ...], bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> tuple[float, ...]:
        return policy


@dataclass(frozen=True, kw_only=True)
class NoClipping:
    """No bound. Nothing limits what one user can do, so no noise and no ε go with it."""

    @property
    def reads_norms(self) -> bool:
        return False

    @property
    def unproven(self) -> str:
        return "updates are not clipped"

    def init(self) -> tuple[float, ...]:
        return ()

    def bound(self, policy: tuple[float, ...], norms: list[Bounds] | None) -> Bounds:
        return (math.inf,)

    def move(
        self, policy: tuple[float, ...], bounds: Bounds, norms: list[Bounds], rng: np.random.Generator
    ) -> tuple[float, ...]:
        return policy
