"""Planning: which noise, sampling and number of rounds would certify k, at a given confidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any, TypeVar

from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from fedward.base.validate import InvalidType, InvalidValue, rate, whole
from fedward.certificates.plan_goal import Goal
from fedward.certificates.threat import ThreatModel, certifiable
from fedward.privacy.events import Adjacency, multiplier
from fedward.privacy.guarantee import Guarantee, Unit
from fedward.privacy.ledger import Ledger
from fedward.privacy.pld import NoiseTooSmall

NO_ACCURACY = (
    "This does not predict accuracy: whether a training with such noise reaches the confidence that was "
    "assumed is known only after it was run."
)

# What every ε of a plan is about.
UNIT: Unit = "user"
ADJACENCY: Adjacency = "add/remove"
ACCOUNTANT = "pld"

N = TypeVar("N", int, float)


@dataclass(frozen=True, kw_only=True)
class Option:
    """One training that certifies what is wanted.

    Args:
      noise_multiplier, sampling_rate, rounds: z, q and T.
      cohort: q N, how many users are drawn on average.
      noise_on_mean: z / (q N), the noise on each coordinate of the mean in units of the clip bound.
      epsilon: at the goal's δ, by ``pld``; None if no δ was given, or if it is beyond reckoning.
      guarantee: the same with everything that it is about.
    """

    noise_multiplier: float
    sampling_rate: float
    rounds: int
    cohort: float
    noise_on_mean: float
    guarantee: Guarantee | None

    @property
    def epsilon(self) -> float | None:
        return None if self.guarantee is None else self.guarantee.epsilon

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        stated = None if self.guarantee is None else self.guarantee.to_json()
        return own | {"epsilon": self.epsilon, "guarantee": stated}


def plan(
    goal: Goal, noise_multipliers: Sequence[float], sampling_rates: Sequence[float], rounds: Sequence[int]
) -> tuple[Option, ...]:
    """Every training on a grid that certifies the goal, by rounds, sampling rate and noise.

    More noise hides more, so for each (q, T) the least z that does it is looked for by bisection and all
    larger ones follow. It does not predict accuracy.

    >>> goal = Goal(users=200, k=10, top=0.8, runner_up=0.2)
    >>> [option.noise_multiplier for option in plan(goal, [1, 2, 3, 4], [0.1], [3])]
    [3.0, 4.0]
    """
    noises = _grid("noise multipliers", noise_multipliers, multiplier)
    rates = _grid("sampling rates", sampling_rates, lambda q: float(rate("sampling rate", q)))
    lengths = _grid("rounds", rounds, lambda t: int(whole("rounds", t)))
    found = []
    for t in lengths:
        for q in rates:
            enough = noises[_first_index(noises, partial(_is_certified, goal, q, t)) :]
            if goal.epsilon is not None:
                enough = enough[_first_index(enough, partial(_affordable, goal, q, t)) :]
            found += [_option(goal, q, t, z) for z in enough]
    return tuple(found)


def _option(goal: Goal, q: float, t: int, z: float) -> Option:
    cohort = q * goal.users
    return Option(
        noise_multiplier=z,
        sampling_rate=q,
        rounds=t,
        cohort=cohort,
        noise_on_mean=z / cohort,
        guarantee=None if goal.delta is None else _guarantee(goal.delta, q, t, z),
    )


def _is_certified(goal: Goal, q: float, t: int, z: float) -> bool:
    model = ThreatModel(threat=goal.threat, attendance=goal.attendance)
    return goal.certified_by(certifiable(_ledger(q, t, z), model))


def _affordable(goal: Goal, q: float, t: int, z: float) -> bool:
    assert goal.epsilon is not None
    assert goal.delta is not None
    guarantee = _guarantee(goal.delta, q, t, z)
    return guarantee is not None and guarantee.epsilon <= goal.epsilon


def _ledger(q: float, t: int, z: float) -> Ledger:
    event = GaussianDpEvent(z) if q == 1 else PoissonSampledDpEvent(q, GaussianDpEvent(z))
    return Ledger(unit=UNIT, adjacency=ADJACENCY, noise_source="seeded").charged(event, t)


# Asked for again by the search.
@lru_cache(maxsize=4096)
def _guarantee(delta: float, q: float, t: int, z: float) -> Guarantee | None:
    try:
        # Nothing is drawn for a plan, so nothing is said about where noise comes from.
        return replace(_ledger(q, t, z).guarantee(delta, ACCOUNTANT), noise_source=None)
    except NoiseTooSmall:
        return None


def _first_index(values: Sequence[float], holds: Callable[[float], bool]) -> int:
    """The index of the first value for which it holds, as it does for all that follow."""
    low, high = 0, len(values)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(values[middle]) else (middle + 1, high)
    return low


def _grid(name: str, values: Sequence[N], checked: Callable[[N], N]) -> list[N]:
    if not isinstance(values, Sequence):
        raise InvalidType(f"{name} must be a list, got {values!r}")
    if not values:
        raise InvalidValue(f"{name} must be at least one, got none")
    return sorted({checked(value) for value in values})
