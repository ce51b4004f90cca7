"""A search for the point where ε crosses a target, with few calls of a slow accountant."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from fedward.privacy.accountants import epsilon_of
from fedward.privacy.events import Adjacency
from fedward.privacy.pld import NoiseTooSmall, rough_pld
from fedward.privacy.spending import Mechanisms

Point = tuple[float, float]


def excess(spending: Mechanisms, target: float, delta: float, accountant: str, adjacency: Adjacency) -> float:
    """log(ε / target): at most 0 if the target holds, infinite if ε is out of the accountant's reach."""
    return _excess(lambda: epsilon_of(spending, delta, accountant, adjacency), target)


def rough_excess(spending: Mechanisms, target: float, delta: float, adjacency: Adjacency) -> float:
    """About the same by ``pld``, in a tenth of its time."""
    return _excess(lambda: rough_pld(spending, delta, adjacency), target)


def _excess(compute: Callable[[], float], target: float) -> float:
    try:
        epsilon = compute()
    except NoiseTooSmall:
        return math.inf
    # Not the logarithm's sign: an ε that equals the target to the last bit must hold.
    if epsilon <= target:
        return min(0.0, math.log(max(epsilon / target, 1e-9)))
    return max(math.log(epsilon / target), 1e-15)


def find_crossing(
    excess_at: Callable[[float], float],
    inside: Point,
    outside: Point,
    close: Callable[[float, float], bool],
    snap: Callable[[float, float, float], float],
) -> float:
    """The last point inside, next to one outside: false position (Illinois) on logarithmic scales.

    Args:
      excess_at: above 0 outside, at most 0 inside.
      inside, outside: positive points on either side, and their excess.
      close: whether (inside, outside) are near enough to stop.
      snap: (a guess, inside, outside) -> the point to try.
    """
    (a, excess_a), (b, excess_b) = inside, outside
    side, step = 0, 0
    while not close(a, b):
        step += 1
        # Halving now and then bounds the number of calls whatever the curve looks like.
        halve = step % 4 == 0 or not math.isfinite(excess_b)
        weight = 0.5 if halve else min(max(excess_a / (excess_a - excess_b), 0.01), 0.99)
        x = snap(a ** (1.0 - weight) * b**weight, a, b)
        found = excess_at(x)
        if found <= 0:
            excess_b = excess_b / 2 if side == -1 else excess_b
            a, excess_a, side = x, found, -1
        else:
            excess_a = excess_a / 2 if side == 1 else excess_a
            b, excess_b, side = x, found, 1
    return a


# A pure function of its arguments. A training asks for the same number before each of its rounds.
@lru_cache(maxsize=64)
def affordable_count(
    spent: Mechanisms,
    event: Mechanisms,
    epsilon: float,
    delta: float,
    accountant: str,
    adjacency: Adjacency,
    limit: int,
) -> int:
    """How often, ``limit`` at most, an event can happen on top of what was spent before ε is exceeded."""

    def excess_of(count: float) -> float:
        further = tuple((mechanism, number * int(count)) for mechanism, number in event)
        return excess(spent + further, epsilon, delta, accountant, adjacency)

    last = excess_of(limit)
    if last <= 0:
        return limit
    first = excess_of(1)
    if first > 0:
        return 0
    return int(
        find_crossing(
            excess_of,
            inside=(1, first),
            outside=(limit, last),
            close=lambda a, b: b - a <= 1,
            snap=lambda x, a, b: min(max(round(x), a + 1), b - 1),
        )
    )
