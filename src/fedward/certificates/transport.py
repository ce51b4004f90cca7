"""Bounds on an expected score after attackers have changed the distribution of the trained model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from fedward.base.validate import one_of
from fedward.certificates.checks import Floats, check_all_in_unit
from fedward.privacy.group import THREATS, Direction, GroupCurve, Threat

Side = Literal["lower", "upper"]

# The laws that a threat goes through: (away from, towards) at each step.
_STEPS: dict[str, tuple[tuple[Direction, Direction], ...]] = {
    "inject": (("base|mixture", "mixture|base"),),
    "present": (("mixture|base", "base|mixture"),),
    "compromise": (("mixture|base", "base|mixture"), ("base|mixture", "mixture|base")),
}
# Beyond this e^ε is out of floating point; long before, it outweighs any mean but 0.
_MOST_EPSILON = 600.0


def transport(mean: Any, curve: GroupCurve, threat: Threat, side: Side) -> Floats:
    """Bounds on E_Q[φ], Q the law of the model under the threat, for any score φ in [0, 1].

        E_Q[φ] >= max_ε e^-ε (E_P[φ] - δ_{P|Q}(ε))    E_Q[φ] <= min_ε e^ε E_P[φ] + δ_{Q|P}(ε)

    over all real ε. *Inject*: P is the base (without the group), Q the mixture. *Present*: the other way.
    *Compromise*: k users leave (present), then k attackers come (inject), one bound applied to the other.

    Guarantee: it holds for every score, so every ε; the best of the grid is taken. If ``mean`` is a lower
    (upper) bound on E_P[φ], so is the result on E_Q[φ].

    Args:
      mean: E_P[φ], or a bound on it: any shape, each in [0, 1].
      curve: of the group of k.
      threat: inject, present or compromise.
      side: which bound.

    >>> from dp_accounting import GaussianDpEvent
    >>> from fedward.privacy.group import group_curve
    >>> curve = group_curve([(GaussianDpEvent(4.0), 1)], 2)
    >>> transport([0.8, 0.95], curve, "inject", "lower").round(3).tolist()
    [0.634, 0.874]
    """
    one_of("threat", threat, THREATS)
    one_of("side", side, ["lower", "upper"])
    score = check_all_in_unit("mean", mean)
    if side == "upper":
        # The upper bound on φ is the lower bound on 1 - φ.
        score = 1.0 - score
    for away, towards in _STEPS[threat]:
        score = _lower(score, _lines(curve, away, towards), curve.step)
    return 1.0 - score if side == "upper" else score


@dataclass(frozen=True, eq=False, kw_only=True)
class _Lines:
    """The bounds for ε (``away``) and -ε (``towards``) on the grid, and where the next one is better.

    ``away_turns`` and ``towards_turns`` are the means at which it becomes so, and rise.
    """

    away: Floats
    towards: Floats
    away_turns: Floats
    towards_turns: Floats


# A search asks for the same curve again and again, with another mean.
@lru_cache(maxsize=16)
def _lines(curve: GroupCurve, away_from: Direction, to: Direction) -> _Lines:
    step = curve.step
    most = int(_MOST_EPSILON / step) + 1
    away, towards = curve.on_grid(away_from)[:most], curve.on_grid(to)[:most]
    kept = np.exp(-step)
    return _Lines(
        away=away,
        towards=towards,
        away_turns=_rising((away[:-1] - kept * away[1:]) / -np.expm1(-step)),
        towards_turns=_rising(
            np.diff(towards) * np.exp(-step * np.arange(1, len(towards))) / np.expm1(-step)
        ),
    )


def _rising(turns: Floats) -> Floats:
    return np.ascontiguousarray(np.minimum.accumulate(turns)[::-1])


def _lower(mean: Floats, lines: _Lines, step: float) -> Floats:
    """The best of all lower bounds for ε and -ε on the grid.

    Below 0 the identity δ_{P|Q}(-ε) = 1 - e^-ε + e^-ε δ_{Q|P}(ε) turns the bound into
    1 - e^ε (1 - mean) - δ_{Q|P}(ε), in which no rounding error is multiplied. Each bound is a line in the
    mean and any of them holds, so a place that is found one off is still safe.
    """
    away, towards = lines.away, lines.towards
    # A mean that reads 1 may be 1 less a rounding error, and e^ε would make much of that.
    missing = 1.0 - mean + np.finfo(np.float64).eps
    place = _place(lines.away_turns, mean)
    best = np.zeros_like(mean)
    for near in (place - 1, place, place + 1):
        i = np.clip(near, 0, len(away) - 1)
        best = np.maximum(best, np.exp(-step * i) * (mean - away[i]))
    place = _place(lines.towards_turns, missing)
    for near in (place - 1, place, place + 1):
        i = np.clip(near, 0, len(towards) - 1)
        best = np.maximum(best, 1.0 - np.exp(step * i) * missing - towards[i])
    return best


def _place(rising: Floats, value: Floats) -> Any:
    """At which point of the grid the line is best: the next is better as long as the value is below."""
    return len(rising) - np.searchsorted(rising, value, side="right")
