"""Accountants: from what was spent to ε at δ. They interpret events, and refuse what has no proof."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
from dp_accounting import DpEvent, NeighboringRelation, PoissonSampledDpEvent
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant, compute_epsilon

from fedward.core.validate import InvalidValue, one_of
from fedward.privacy.events import Adjacency
from fedward.privacy.moments import moments
from fedward.privacy.sampled_gaussian import Array, sampled_gaussian_rdp
from fedward.privacy.spending import Mechanisms, Spending, fixed_size, non_private, proven

# The grid of `pld` grows with ε and with the loss that one release can cause: beyond these it takes gigabytes
# and minutes, for an ε that protects nobody.
_MOST_EPSILON_BY_PLD = 200.0
_LEAST_NOISE_BY_PLD = 0.1


_RDP_ORDERS: Array = RdpAccountant().orders


class NoiseTooSmall(InvalidValue):
    """ε is finite, but this accountant does not compute it: too much can leak."""


def rdp(spending: Spending, delta: float, adjacency: Adjacency) -> float:
    """ε by Rényi divergences, with dp_accounting's orders and its modern conversion.

        ε = min_α Σ RDP(α) + log((α - 1) / α) - (log δ + log α) / (α - 1)

    Guarantee: for Poisson sampling under add/remove, fixed-size sampling under replace-one and plain
    Gaussians under any adjacency.

    >>> from dp_accounting import GaussianDpEvent, SampledWithoutReplacementDpEvent
    >>> event = SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(1.5))
    >>> round(rdp([(event, 3)], 0.0029, "replace-one"), 4)
    0.7687

    Mironov 2017; Wang, Balle and Kasiviswanathan 2019; Canonne, Kamath and Steinke 2020.
    """
    parts = proven(spending, delta, adjacency)
    if non_private(parts):
        return math.inf
    if not parts:
        return 0.0
    total = np.zeros_like(_RDP_ORDERS)
    for event, count in parts:
        total += count * _rdp_curve(event, adjacency)
    return float(compute_epsilon(_RDP_ORDERS, total, delta)[0])


def pld(spending: Spending, delta: float, adjacency: Adjacency) -> float:
    """ε by composing whole privacy loss distributions, on dp_accounting's grid: the tightest we have.

        δ(ε) = E_{loss} [(1 - exp(ε - loss))_+]

    Guarantee: for Poisson sampling under add/remove and plain Gaussians under any adjacency. Fixed-size
    sampling is refused. So is noise below 0.1 and an ε beyond 200 (``NoiseTooSmall``): the grid for
    them takes gigabytes.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
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
    _require_a_grid(parts, delta, adjacency)
    # The relation is add/remove for plain Gaussians under every adjacency: any other would double the
    # sensitivity that their multiplier is already relative to.
    accountant = PLDAccountant()
    for event, count in parts:
        accountant.compose(event, count)
    return float(accountant.get_epsilon(delta))


ACCOUNTANTS: dict[str, Callable[[Spending, float, Adjacency], float]] = {
    "moments": moments,
    "rdp": rdp,
    "pld": pld,
}


def epsilon_of(spending: Spending, delta: float, accountant: str, adjacency: Adjacency) -> float:
    """ε at δ by the accountant of that name: infinite if something is not private, 0 for nothing spent."""
    one_of("accountant", accountant, ACCOUNTANTS)
    return ACCOUNTANTS[accountant](spending, delta, adjacency)


# Fixed-size curves take most of a second, and a search asks for the same one again and again.
@lru_cache(maxsize=256)
def _rdp_curve(event: DpEvent, adjacency: Adjacency) -> Array:
    replace_one = adjacency == "replace-one"
    relation = NeighboringRelation.REPLACE_ONE if replace_one else NeighboringRelation.ADD_OR_REMOVE_ONE
    with _without_warnings_of_orders():
        curve: Array = RdpAccountant(neighboring_relation=relation).compose(event).rdp
    if isinstance(event, PoissonSampledDpEvent):
        # Its sums may round to less than the divergence, even below zero, which it would report as ε = 0.
        exact = sampled_gaussian_rdp(event.sampling_probability, event.event.noise_multiplier, _RDP_ORDERS)
        curve = np.maximum(curve, exact)
    curve.flags.writeable = False
    return curve


def _require_a_grid(parts: Mechanisms, delta: float, adjacency: Adjacency) -> None:
    for event, _ in parts:
        z = event.event.noise_multiplier if isinstance(event, PoissonSampledDpEvent) else event.noise_multiplier
        if z < _LEAST_NOISE_BY_PLD:
            raise NoiseTooSmall(f"noise multiplier must be at least {_LEAST_NOISE_BY_PLD} for pld, got {z:g}; use rdp")
    bound = moments(parts, delta, adjacency)
    if bound > _MOST_EPSILON_BY_PLD:
        raise NoiseTooSmall(f"ε must be at most {_MOST_EPSILON_BY_PLD:g} for pld, got up to {bound:.6g}; use rdp")


@contextmanager
def _without_warnings_of_orders() -> Iterator[None]:
    """Orders whose series does not converge are left out, which is safe: ε is the least of the others."""
    logger = logging.getLogger("absl")

    def errors_only(record: logging.LogRecord) -> bool:
        return record.levelno >= logging.ERROR

    logger.addFilter(errors_only)
    try:
        yield
    finally:
        logger.removeFilter(errors_only)
