"""Planning: for each sampling rate and number of rounds the least noise that meets ε and k."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, TypeVar

from scipy.special import ndtr

from fedward.base.validate import InvalidType, InvalidValue, rate, whole
from fedward.certificates.ceiling import best_lower, needed_lower
from fedward.certificates.pilot import Noise
from fedward.certificates.plan_goal import METHOD, Goal
from fedward.certificates.threat import certifiable
from fedward.privacy.accounting_events import GaussianDpEvent, PoissonSampledDpEvent
from fedward.privacy.events import Adjacency
from fedward.privacy.group import GroupCurve, group_curve
from fedward.privacy.guarantee import Unit
from fedward.privacy.ledger import Ledger
from fedward.privacy.rounding import round_up_digits

# What every ε of a plan is about.
UNIT: Unit = "user"
ADJACENCY: Adjacency = "add/remove"
ACCOUNTANT = "pld"
# So many replicas are taken for possible where the plan chooses M.
MANY = 1000

LimitedBy = Literal["epsilon", "k", "share"]
N = TypeVar("N", int, float)

_LEAST_NOISE, _MOST_NOISE = 0.2, 1e4
_PRECISION = 1.01


@dataclass(frozen=True, kw_only=True)
class Option:
    """A training that could certify the goal within ε, if its replicas agree.

    Args:
      noise: z, q, T and N.
      needed: the lower bound that a vote needs to be certified against k; None if no bound is enough.
      limited_by: what sets the noise: the ε that may be spent, the k that is wanted, or the share of
        examples that a pilot predicts.
    """

    noise: Noise
    needed: float | None
    limited_by: LimitedBy

    @property
    def noise_over_signal(self) -> float:
        """z / (q N √T): the noise of all rounds together over what they could learn."""
        return self.noise.on_mean / math.sqrt(self.noise.rounds)

    @property
    def trainings(self) -> float:
        """q N T: local trainings of one replica."""
        return self.noise.cohort * self.noise.rounds


def options(
    goal: Goal, sampling_rates: Sequence[float], rounds: Sequence[int], top: float | None = None
) -> Iterator[Option | None]:
    """For each number of rounds and sampling rate the least noise that meets ε and k; None where none does.

    More noise hides more, so each is found by halving, with the curves of groups: bounds that take
    milliseconds. Exact accounting is left to what is recommended.

    Args:
      top: a lower bound on the expected vote that is assumed; if not given, that of M unanimous votes.

    >>> goal = Goal(users=200, k=10)
    >>> (one,) = options(goal, [0.1], [3], top=0.8)
    >>> round(one.noise.noise_multiplier, 1), one.limited_by
    (2.1, 'k')
    """
    rates = grid("sampling rates", sampling_rates, lambda q: float(rate("sampling rate", q)))
    lengths = grid("rounds", rounds, lambda t: int(whole("rounds", t)))
    for t in lengths:
        for q in rates:
            yield option(goal, q, t, top)


def option(goal: Goal, q: float, t: int, top: float | None = None) -> Option | None:
    """The training with the least noise that meets ε and k at this sampling rate and length, if any does."""
    floor = _LEAST_NOISE if goal.epsilon is None else least_noise_for_epsilon(goal, q, t)
    if floor is None:
        return None
    best = top if top is not None else best_lower(METHOD, goal.replicas or MANY, goal.each)

    def enough(z: float) -> bool:
        needed = needed_at(goal, q, t, z)
        return needed is not None and needed <= best

    z = floor if enough(floor) else least_noise(enough, 2 * floor)
    if z is None:
        return None
    limited: LimitedBy = "epsilon" if z == floor and goal.epsilon is not None else "k"
    return make_option(goal, q, t, z, limited)


def make_option(goal: Goal, q: float, t: int, z: float, limited_by: LimitedBy) -> Option:
    """One training, with what a vote needs there."""
    noise = Noise(noise_multiplier=z, sampling_rate=q, rounds=t, users=goal.users)
    return Option(noise=noise, needed=needed_at(goal, q, t, z), limited_by=limited_by)


# Asked for again by every search over z.
@lru_cache(maxsize=4096)
def needed_at(goal: Goal, q: float, t: int, z: float, k: int | None = None) -> float | None:
    """The lower bound on a vote that is certified against the goal's k, or another one."""
    spending = certifiable(ledger_of(q, t, z), goal.model)
    return needed_lower(spending, goal.k if k is None else k, goal.threat)


def ledger_of(q: float, t: int, z: float) -> Ledger:
    """What a training spends."""
    event = GaussianDpEvent(z) if q == 1 else PoissonSampledDpEvent(q, GaussianDpEvent(z))
    return Ledger(unit=UNIT, adjacency=ADJACENCY, noise_source="seeded").charged(event, t)


def least_noise_for_epsilon(goal: Goal, q: float, t: int) -> float | None:
    """The least z with which so many rounds spend at most the goal's ε, by the curve of one user."""
    assert goal.epsilon is not None
    within = partial(_spends_at_most, goal.epsilon, goal.own_delta, q, t)
    return least_noise(within, _gaussian_guess(goal.epsilon, goal.own_delta, q, t))


def epsilon_bound(noise: Noise, delta: float) -> float:
    """An upper bound on ε that takes milliseconds: where the curve of one user falls to δ.

    >>> noise = Noise(noise_multiplier=3.0, sampling_rate=0.1, rounds=3, users=200)
    >>> 0.0878 <= epsilon_bound(noise, 0.0029) < 0.1
    True
    """
    curve = _curve(noise.sampling_rate, noise.rounds, noise.noise_multiplier)
    low, high = 0.0, 1.0
    while not _within(curve, high, delta):
        low, high = high, 2 * high
        if high > 1e3:
            return math.inf
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if _within(curve, middle, delta) else (middle, high)
    return high


def least_noise(enough: Callable[[float], bool], guess: float) -> float | None:
    """The least z for which it holds, to one in a hundred and rounded up; None if none is large enough."""
    low, high = guess / 1.2, guess * 1.2
    while not enough(high):
        low, high = high, high * 2
        if high > _MOST_NOISE:
            return None
    while low > _LEAST_NOISE and enough(low):
        low, high = low / 2, low
    low = max(low, _LEAST_NOISE / 2)
    while high > low * _PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(round_up_digits(high, 3))


def _spends_at_most(epsilon: float, delta: float, q: float, t: int, z: float) -> bool:
    return _within(_curve(q, t, z), epsilon, delta)


def _within(curve: GroupCurve, epsilon: float, delta: float) -> bool:
    return max(curve.delta("mixture|base", epsilon), curve.delta("base|mixture", epsilon)) <= delta


def _curve(q: float, t: int, z: float) -> GroupCurve:
    return group_curve(ledger_of(q, t, z).spending, 1)


def _gaussian_guess(epsilon: float, delta: float, q: float, t: int) -> float:
    """About the z that is needed, as if the central limit were reached: a place to begin.

    µ = q sqrt(T (e^(1/z²) - 1)),    δ = Φ(µ/2 - ε/µ) - e^ε Φ(-µ/2 - ε/µ)

    Dong, Roth and Su 2022; Bu et al. 2020.
    """
    low, high = 1e-4, 50.0
    for _ in range(50):
        mu = math.sqrt(low * high)
        spent = ndtr(mu / 2 - epsilon / mu) - math.exp(min(epsilon, 700.0)) * ndtr(-mu / 2 - epsilon / mu)
        low, high = (mu, high) if spent <= delta else (low, mu)
    return max(_LEAST_NOISE, 1.0 / math.sqrt(math.log1p((low / q) ** 2 / t)))


def grid(name: str, values: Sequence[N], checked: Callable[[N], N]) -> list[N]:
    """The values of a grid in rising order, each once."""
    if not isinstance(values, Sequence):
        raise InvalidType(f"{name} must be a list, got {values!r}")
    if not values:
        raise InvalidValue(f"{name} must be at least one, got none")
    return sorted({checked(value) for value in values})
