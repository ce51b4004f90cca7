"""The raw median of the round's own norms, which no ε covers."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from fedward.base.validate import positive
from fedward.clipping.policy_methods import never_look, start_empty, stay
from fedward.core.types import Bounds, PolicyState

# Public limits, so that a median of zero or beyond all numbers gives a bound all the same.
_LEAST, _MOST = 1e-10, 1e10


@dataclass(frozen=True, kw_only=True)
class RawMedian:
    """The bound is the median of the norms of the very updates that are clipped to it; layer by layer with
    per-layer clipping.

        S = median_i ‖Δ_i‖₂

    It guarantees nothing: the bound itself is computed from private norms without noise, and so is the scale
    of the noise. fedward prints no ε for it. For comparison with the papers only.

    Args:
      initial: the clip bound of a round with an empty cohort.

    >>> RawMedian(initial=1.0).bound((), 0, [(0.1,), (0.5,), (7.0,)])
    (0.5,)

    Geyer, Klein, Nabi 2017; Xie et al. 2022, appendix A.3.9.
    """

    initial: float = 1.0

    reads_norms = True
    per_group = True
    unproven = "the clip bound is the raw median of private norms"
    replaced_moves = 2.0  # never asked: nothing is charged that has no proof

    def __post_init__(self) -> None:
        positive("initial clip bound", self.initial)

    looks = never_look
    init = start_empty
    move = stay

    def bound(self, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds:
        if not norms:
            return (self.initial,)
        return tuple(min(max(statistics.median(group), _LEAST), _MOST) for group in zip(*norms, strict=True))
