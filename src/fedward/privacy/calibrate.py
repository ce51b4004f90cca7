"""Calibration: the least noise, or the most rounds, for a target (ε, δ)."""

from __future__ import annotations

from collections.abc import Callable

from fedward.base.validate import InvalidValue, one_of, open_unit, positive, whole
from fedward.privacy.accountants import ACCOUNTANTS, epsilon_of
from fedward.privacy.accounting_events import DpEvent
from fedward.privacy.epsilon_search import Point, affordable_count, excess, find_crossing, rough_excess
from fedward.privacy.events import ADJACENCIES, Adjacency
from fedward.privacy.moments import moments
from fedward.privacy.pld import LEAST_NOISE, MOST_EPSILON, NoiseTooSmall, needs_no_noise, require_a_grid
from fedward.privacy.rounding import round_up_digits
from fedward.privacy.spending import Mechanisms, is_allocated, is_fixed_size, mechanisms

# The noise found is at most this much above the least there is.
_TOLERANCE = 5e-5
# From an estimate the search goes this factor first.
_ROUGH_STRIDE = 1.0 + 1e-3
_LEAST_NOISE, _MOST_NOISE = 1e-3, 1e7


def noise_for(
    epsilon: float,
    delta: float,
    event_of: Callable[[float], DpEvent],
    rounds: int,
    accountant: str,
    adjacency: Adjacency,
) -> float:
    """The least noise multiplier with which so many rounds spend at most ε.

    Guarantee: the ε of the result, computed again, is at most the target. The least noise that does it is
    smaller by less than 0.005 %; under ``pld``, which takes no multiplier below 0.1, that may be the least.

    Args:
      epsilon, delta: the target.
      event_of: from a noise multiplier to the event of one round.
      rounds: how many rounds there will be.
      accountant: its name.
      adjacency: what the event's noise multiplier is relative to.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> sampled = lambda z: PoissonSampledDpEvent(0.1, GaussianDpEvent(z))
    >>> round(noise_for(0.2808, 0.0029, sampled, 3, "moments", "add/remove"), 3)
    3.0
    """
    _check(epsilon, delta, accountant, adjacency)
    whole("rounds", rounds)

    def spent(z: float) -> Mechanisms:
        return mechanisms([(event_of(z), rounds)])

    def excess_at(z: float) -> float:
        return excess(spent(z), epsilon, delta, accountant, adjacency)

    start, stride = 1.0, 2.0
    if accountant == "pld":
        if needs_no_noise(spent(1.0), delta):
            raise InvalidValue(
                f"delta must be below the chance that a user is drawn at all, got {delta:g}: it covers a "
                "training without noise, whose ε is 0"
            )
        if _meets(epsilon, delta, event_of(LEAST_NOISE), rounds, adjacency):
            return LEAST_NOISE
        start = _rough_noise(lambda z: rough_excess(spent(z), epsilon, delta, adjacency))
        stride = _ROUGH_STRIDE
        if start == LEAST_NOISE and excess_at(LEAST_NOISE) <= 0:
            return LEAST_NOISE
    near, far = _bracket(excess_at, start, stride, _LEAST_NOISE)
    if far is None and near[1] > 0:
        least = epsilon_of([(event_of(near[0]), rounds)], delta, accountant, adjacency)
        raise InvalidValue(
            f"epsilon must be within reach of noise, got {epsilon:g}: {near[0]:g} still gives "
            f"ε = {round_up_digits(least)}"
        )
    if far is None:
        raise InvalidValue(
            f"epsilon must be small enough to need noise, got {epsilon:g}: {near[0]:g} is enough for it"
        )
    return _between(excess_at, near, far, _off_the_root)


def _rough_noise(excess_at: Callable[[float], float]) -> float:
    """About the least noise, by an ε that is quickly computed; ``pld``'s own least where that is enough."""
    near, far = _bracket(excess_at, 1.0, 2.0, LEAST_NOISE)
    return near[0] if far is None else _between(excess_at, near, far, lambda x, inside, outside: x)


def _bracket(
    excess_at: Callable[[float], float], start: float, stride: float, least: float
) -> tuple[Point, Point | None]:
    """The last point of one side and the first of the other, by longer and longer strides; None at an end."""
    z, here = start, excess_at(start)
    while True:
        further = z * stride if here > 0 else max(z / stride, least)
        if further > _MOST_NOISE or further == z:
            return (z, here), None
        there = excess_at(further)
        if (here > 0) != (there > 0):
            return (z, here), (further, there)
        z, here, stride = further, there, min(stride**2, 2.0)


def _between(
    excess_at: Callable[[float], float],
    one: Point,
    other: Point,
    snap: Callable[[float, float, float], float],
) -> float:
    """The least noise between two points of which one is inside."""
    inside, outside = (one, other) if one[1] <= 0 else (other, one)
    return find_crossing(
        excess_at, inside, outside, close=lambda a, b: a <= b * (1.0 + _TOLERANCE), snap=snap
    )


def _off_the_root(guess: float, inside: float, outside: float) -> float:
    """Somewhat beyond a guess, as seen from the point that it is next to, so that both soon lie around it."""
    nearer_inside = inside / guess < guess / outside
    beyond = guess / (1.0 + _TOLERANCE / 3) if nearer_inside else guess * (1.0 + _TOLERANCE / 3)
    return min(max(beyond, outside), inside)


def rounds_for(
    epsilon: float,
    delta: float,
    event: DpEvent,
    accountant: str,
    adjacency: Adjacency,
    limit: int = 10**7,
) -> int:
    """The most rounds of an event that spend at most ε; never more than ``limit``.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> rounds_for(0.3, 0.0029, PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), "moments", "add/remove")
    3
    """
    _check(epsilon, delta, accountant, adjacency)
    whole("limit", limit)
    rounds = affordable_count((), mechanisms([(event, 1)]), epsilon, delta, accountant, adjacency, limit)
    if rounds == 0:
        cost = epsilon_of([(event, 1)], delta, accountant, adjacency)
        raise InvalidValue(
            f"epsilon must be at least what one round costs, {round_up_digits(cost, 6)}, got {epsilon:g}"
        )
    return rounds


def _meets(epsilon: float, delta: float, event: DpEvent, rounds: int, adjacency: Adjacency) -> bool:
    """Whether so little noise is enough, by a bound that takes no time where ``pld`` takes seconds."""
    spent = mechanisms([(event, rounds)])
    if not spent or is_fixed_size(spent) or is_allocated(spent) or moments(spent, delta, adjacency) > epsilon:
        return False
    try:
        require_a_grid(spent, delta, adjacency)
    except NoiseTooSmall:
        return False
    return True


def _check(epsilon: float, delta: float, accountant: str, adjacency: Adjacency) -> None:
    positive("epsilon", epsilon)
    open_unit("delta", delta)
    one_of("accountant", accountant, ACCOUNTANTS)
    one_of("adjacency", adjacency, ADJACENCIES)
    if accountant == "pld" and epsilon > MOST_EPSILON:
        raise InvalidValue(f"epsilon must be at most {MOST_EPSILON:g} for pld, got {epsilon:g}; use rdp")
