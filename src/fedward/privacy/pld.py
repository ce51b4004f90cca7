"""The accountant by privacy loss distributions: usually the tightest."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent
from dp_accounting.pld import privacy_loss_distribution as distributions

from fedward.core.validate import InvalidValue
from fedward.privacy.events import Adjacency
from fedward.privacy.moments import moments
from fedward.privacy.spending import Mechanisms, Spending, fixed_size, non_private, proven

# The grid grows with ε, with the loss that one release can cause and with the number of releases. Beyond
# these it takes gigabytes and minutes, for an ε that protects nobody.
MOST_EPSILON = 200.0
LEAST_NOISE = 0.1
_MOST_TIMES = 10**7
# dp_accounting's own choice, and so its accountant's numbers.
_GRID = 1e-4


class NoiseTooSmall(InvalidValue):
    """ε is finite, but so large that ``pld`` does not compute it."""


def pld(spending: Spending, delta: float, adjacency: Adjacency) -> float:
    """ε by composing whole privacy loss distributions, on dp_accounting's grid.

        δ = E_{loss} [max(0, 1 - exp(ε - loss))]

    Guarantee: for Poisson sampling under add/remove and plain Gaussians under any adjacency. Fixed-size
    sampling is refused. So are noise multipliers below 0.1 and an ε beyond 200 (``NoiseTooSmall``).

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
    parts = proven(spending, delta, adjacency)
    if fixed_size(parts):
        raise InvalidValue(
            "fixed-size sampling must be accounted by rdp, got 'pld': no tight privacy loss distribution is "
            "known for sampling without replacement; or sample by Poisson"
        )
    if non_private(parts):
        return math.inf
    require_a_grid(parts, delta, adjacency)
    composed = distributions.identity(value_discretization_interval=_GRID)
    for event, count in _folded(parts):
        if isinstance(event, GaussianDpEvent):  # one of them at most
            composed = composed.compose(_distribution(event))
        elif event.sampling_probability > 0:
            composed = composed.compose(_distribution(event).self_compose(count))
    epsilon = float(composed.get_epsilon_for_delta(delta))
    if epsilon == math.inf:
        raise InvalidValue(
            f"delta must be larger for pld, whose grid leaves out the last tails, got {delta:g}; use rdp"
        )
    return epsilon


@lru_cache(maxsize=8)
def _distribution(event: GaussianDpEvent | PoissonSampledDpEvent) -> Any:
    """The privacy loss of one release. It takes a second to make, and who asks once asks again.

    The relation is add/remove for plain Gaussians under every adjacency: any other would double the
    sensitivity that their multiplier is already relative to.
    """
    poisson = isinstance(event, PoissonSampledDpEvent)
    return distributions.from_gaussian_mechanism(
        standard_deviation=event.event.noise_multiplier if poisson else event.noise_multiplier,
        sampling_prob=event.sampling_probability if poisson else 1.0,
        value_discretization_interval=_GRID,
        neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
    )


def _folded(parts: Mechanisms) -> Mechanisms:
    """The same with one Gaussian for all plain ones: exact, and without a convolution.

    z = (Σ_i n_i z_i^-2)^-1/2
    """
    gaussians = [(event, count) for event, count in parts if isinstance(event, GaussianDpEvent)]
    others = [(event, count) for event, count in parts if not isinstance(event, GaussianDpEvent)]
    if sum(count for _, count in gaussians) < 2:
        return parts
    z = math.fsum(count * event.noise_multiplier**-2 for event, count in gaussians) ** -0.5
    return (*others, (GaussianDpEvent(z), 1))


def require_a_grid(parts: Mechanisms, delta: float, adjacency: Adjacency) -> None:
    """Refuses what would take a grid that is too large; takes no time itself."""
    for event, count in parts:
        if count > _MOST_TIMES:
            raise InvalidValue(f"count must be at most {_MOST_TIMES:,} for pld, got {count:,}; use rdp")
        gaussian = event if isinstance(event, GaussianDpEvent) else event.event
        if gaussian.noise_multiplier < LEAST_NOISE:
            z = gaussian.noise_multiplier
            raise NoiseTooSmall(
                f"noise multiplier must be at least {LEAST_NOISE} for pld, got {z:g}; use rdp"
            )
    bound = moments(parts, delta, adjacency)
    if bound > MOST_EPSILON:
        raise NoiseTooSmall(f"ε must be at most {MOST_EPSILON:g} for pld, got up to {bound:.6g}; use rdp")
