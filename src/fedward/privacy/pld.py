"""The accountant by privacy loss distributions: usually the tightest."""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.special import ndtr

from fedward.base.validate import InvalidValue
from fedward.privacy.accounting_events import (
    GaussianDpEvent,
    PoissonSampledDpEvent,
    RandomAllocationDpEvent,
)
from fedward.privacy.allocated_release import discretise_allocation
from fedward.privacy.events import Adjacency, fold
from fedward.privacy.known_epsilons import recall_or_compute
from fedward.privacy.moments import moments
from fedward.privacy.release import discretise_release
from fedward.privacy.spending import Mechanisms, Spending, is_fixed_size, non_private, require_proof
from fedward.privacy.tilted import find_epsilon

# The grid grows with ε, with the loss that one release can cause and with the number of releases. Beyond
# these it takes gigabytes and minutes, for an ε that protects nobody.
MOST_EPSILON = 200.0
LEAST_NOISE = 0.1
_MOST_TIMES = 10**7
# Smaller ones leave floating point somewhere on the way.
LEAST_DELTA = 1e-200
# dp_accounting's own choice, and so its accountant's numbers wherever δ is large enough for them.
_GRID = 1e-4
# Ten times as fast, and as safe: for a search, to begin next to where it ends.
_ROUGH_GRID = 1e-3
# How much of δ the tails of all releases together may take.
_LEFT_OUT = 1e-12

# Sampling rate, or the rounds of an epoch, with noise multiplier and how often.
Rounds = tuple[tuple[float, float, int], ...]
Epochs = tuple[tuple[int, float, int], ...]


class NoiseTooSmall(InvalidValue):
    """ε is finite, but so large that ``pld`` does not compute it."""


def pld(spending: Spending, delta: float, adjacency: Adjacency) -> float:
    """ε by composing whole privacy loss distributions, on dp_accounting's grid.

        δ = E_{loss} [max(0, 1 - exp(ε - loss))]

    Guarantee: for Poisson sampling and random allocation under add/remove and plain Gaussians under any
    adjacency, and at every δ from 1e-200: grid, tails and all rounding are on the safe side (``Release``,
    ``RatioLaw``, ``find_epsilon``).
    dp_accounting's own composition is not: its transforms are off by about 1e-17 a round in δ, so that at
    δ = 1e-13 and 10,000 rounds its ε may be 0.2 too small. Fixed-size sampling is refused. So are noise
    multipliers below 0.1 and an ε beyond 200 (``NoiseTooSmall``).

    Args:
      spending: events and how often each happened.
      delta: δ.
      adjacency: what the events' noise multipliers are relative to.

    >>> from dp_accounting import PoissonSampledDpEvent
    >>> event = PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
    >>> round(pld([(event, 3)], 0.0029, "add/remove"), 4)
    0.0878

    Koskela, Jälkö and Honkela 2020; Doroshenko et al. 2022.
    """
    parts = _require_reach(spending, delta, adjacency)
    return _remembered(_rounds(parts), _epochs(parts), delta) if parts is not None else math.inf


def rough_pld(spending: Spending, delta: float, adjacency: Adjacency) -> float:
    """An ε that holds as well and is usually a little larger, in a tenth of the time; nobody is told it."""
    parts = _require_reach(spending, delta, adjacency)
    if parts is None:
        return math.inf
    rounds, epochs = _rounds(parts), _epochs(parts)
    return _compute(rounds, epochs, delta, _ROUGH_GRID) if epochs or _variation(rounds) > delta else 0.0


def needs_no_noise(parts: Mechanisms, delta: float) -> bool:
    """Whether δ is at least the chance that a user is drawn at all: ε is 0 then, whatever is released."""
    if not parts or not all(isinstance(event, PoissonSampledDpEvent) for event, _ in parts):
        return False
    chance: float = sum(event.sampling_probability * count for event, count in parts)
    return chance <= delta


def _require_reach(spending: Spending, delta: float, adjacency: Adjacency) -> Mechanisms | None:
    """What was spent, if its ε is within reach here; None where something is not private."""
    parts = require_proof(spending, delta, adjacency)
    if is_fixed_size(parts):
        raise InvalidValue(
            "fixed-size sampling must be accounted by rdp, got 'pld': no tight privacy loss distribution is "
            "known for sampling without replacement; or sample by Poisson"
        )
    if non_private(parts):
        return None
    require_a_grid(parts, delta, adjacency)
    return parts


# A process asks for the same again and again: reports, certificates, budgets.
@lru_cache(maxsize=1024)
def _remembered(rounds: Rounds, epochs: Epochs, delta: float) -> float:
    if not epochs and _variation(rounds) <= delta:
        return 0.0
    # All digits of all numbers, in the order in which they are added up.
    about = f"{rounds!r} {epochs!r} {delta!r} {_GRID!r}"
    return recall_or_compute(about, lambda: _compute(rounds, epochs, delta, _GRID))


def _compute(rounds: Rounds, epochs: Epochs, delta: float, grid: float) -> float:
    # What is left out in the tails costs next to nothing of δ. In whole decades, since releases are kept.
    left_out = delta * _LEFT_OUT / sum(count for _, _, count in rounds + epochs)
    tail = 10.0 ** math.floor(math.log10(left_out))
    releases = [(discretise_release(q, z, tail, grid), count) for q, z, count in rounds]
    releases += [(discretise_allocation(epoch, z, tail, grid), count) for epoch, z, count in epochs]
    larger = max(
        find_epsilon([(one.removed, count) for one, count in releases], grid, delta),
        find_epsilon([(one.added, count) for one, count in releases], grid, delta),
    )
    return max(0.0, larger + sum(count * one.blur for one, count in releases))


def _variation(rounds: Rounds) -> float:
    """At least the δ of ε = 0, where those of the rounds add up: Σ_i n_i q_i (2 Φ(1 / 2z_i) - 1)."""
    # More than rounding may cost.
    return (1.0 + 1e-9) * sum(count * q * (2.0 * float(ndtr(0.5 / z)) - 1.0) for q, z, count in rounds)


def _rounds(parts: Mechanisms) -> Rounds:
    """Sampling rate, noise multiplier and how often; all that is not sampled as one Gaussian, which is exact.

    z = (Σ_i n_i z_i^-2)^-1/2
    """
    rounds, plain = [], []
    for event, count in parts:
        if isinstance(event, PoissonSampledDpEvent) and event.sampling_probability < 1:
            if event.sampling_probability > 0:
                rounds.append((event.sampling_probability, event.event.noise_multiplier, count))
        elif not isinstance(event, RandomAllocationDpEvent):
            gaussian = event.event if isinstance(event, PoissonSampledDpEvent) else event
            plain.append(gaussian.noise_multiplier / math.sqrt(count))
    return ((1.0, fold(*plain), 1), *rounds) if plain else tuple(rounds)


def _epochs(parts: Mechanisms) -> Epochs:
    """Rounds of an epoch, noise multiplier and how often, where users are allotted their rounds."""
    return tuple(
        (event.epoch, event.event.noise_multiplier, count)
        for event, count in parts
        if isinstance(event, RandomAllocationDpEvent)
    )


def require_a_grid(parts: Mechanisms, delta: float, adjacency: Adjacency) -> None:
    """Refuses what would take a grid that is too large or too fine; takes no time itself."""
    if delta < LEAST_DELTA:
        raise InvalidValue(f"delta must be at least {LEAST_DELTA:g} for pld, got {delta:g}; use rdp")
    for event, count in parts:
        if count > _MOST_TIMES:
            raise InvalidValue(f"count must be at most {_MOST_TIMES:,} for pld, got {count:,}; use rdp")
        gaussian = event if isinstance(event, GaussianDpEvent) else event.event
        if gaussian.noise_multiplier < LEAST_NOISE:
            z = gaussian.noise_multiplier
            raise NoiseTooSmall(
                f"noise multiplier must be at least {LEAST_NOISE} for pld, got {z:g}; use rdp"
            )
    bound = moments(_as_poisson(parts), delta, adjacency)
    if bound > MOST_EPSILON:
        raise NoiseTooSmall(f"ε must be at most {MOST_EPSILON:g} for pld, got up to {bound:.6g}; use rdp")


def _as_poisson(parts: Mechanisms) -> Mechanisms:
    """With E rounds of Poisson samples in the place of an epoch: about what it costs, for a first look."""
    return tuple(
        (PoissonSampledDpEvent(1.0 / event.epoch, event.event), count * event.epoch)
        if isinstance(event, RandomAllocationDpEvent)
        else (event, count)
        for event, count in parts
    )
