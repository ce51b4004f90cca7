"""One bound for the whole training, or none."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fedward.base.validate import InvalidValue, positive
from fedward.clipping.policy_methods import never_look, start_empty, stay
from fedward.core.types import Bounds, PolicyState


@dataclass(frozen=True, kw_only=True)
class FixedBound:
    """The same bound S in every round. It looks at nothing private and costs nothing.

    Args:
      clip_bound: S: the longest that an update may be; longer ones are cut to it. With per-layer clipping one
        for all layers, or one for each.

    >>> FixedBound(clip_bound=0.7).bound((), 0, None)
    (0.7,)
    """

    clip_bound: float | tuple[float, ...]

    reads_norms = False
    per_group = True
    unproven = ""
    replaced_moves = 2.0  # never asked: it does not look

    def __post_init__(self) -> None:
        if self.clip_bound == ():
            raise InvalidValue("clip bound must be given for at least one layer, got ()")
        for bound in self._bounds:
            positive("clip bound", bound)

    looks = never_look
    init = start_empty
    move = stay

    def bound(self, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds:
        return self._bounds

    @property
    def _bounds(self) -> Bounds:
        return self.clip_bound if isinstance(self.clip_bound, tuple) else (self.clip_bound,)


@dataclass(frozen=True, kw_only=True)
class NoClipping:
    """No bound. Nothing limits what one user can do, so no noise and no ε go with it."""

    reads_norms = False
    per_group = True
    unproven = "updates are not clipped"
    replaced_moves = 2.0  # never asked: it does not look

    looks = never_look
    init = start_empty
    move = stay

    def bound(self, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds:
        return (math.inf,)
