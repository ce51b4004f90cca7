"""The accountant by Rényi divergences, with dp_accounting's orders and its modern conversion."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache

import numpy as np

from fedward.privacy.accounting_events import (
    DpEvent,
    GaussianDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)
from fedward.privacy.events import Adjacency
from fedward.privacy.sampled_gaussian import Array, sampled_gaussian_rdp
from fedward.privacy.spending import Spending, non_private, refuse_allocation, require_proof

# With more noise than this, dp_accounting's formula for fixed-size sampling takes the logarithm of zero.
_MOST_NOISE_AT_FIXED_SIZE = 1e6


def rdp(spending: Spending, delta: float, adjacency: Adjacency) -> float:
    """ε by Rényi divergences.

        ε = min_α Σ RDP(α) + log((α - 1) / α) - (log δ + log α) / (α - 1)

    Guarantee: for Poisson sampling under add/remove, fixed-size sampling under replace-one and plain
    Gaussians under any adjacency.

    Args:
      spending: events and how often each happened.
      delta: δ.
      adjacency: what the events' noise multipliers are relative to.

    >>> event = SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(1.5))
    >>> round(rdp([(event, 3)], 0.0029, "replace-one"), 4)
    0.7687

    Mironov 2017; Wang, Balle and Kasiviswanathan 2019; Canonne, Kamath and Steinke 2020.
    """
    from dp_accounting.rdp import compute_epsilon

    parts = require_proof(spending, delta, adjacency)
    refuse_allocation(parts, "rdp")
    if non_private(parts):
        return math.inf
    if not parts:
        return 0.0
    total = sum((count * _curve(event) for event, count in parts), np.zeros_like(_orders()))
    return float(compute_epsilon(_orders(), total, delta)[0])


@cache
def _orders() -> Array:
    from dp_accounting.rdp import RdpAccountant

    orders: Array = RdpAccountant().orders
    return orders


# Fixed-size curves take most of a second, and a search asks for the same one again and again.
@lru_cache(maxsize=256)
def _curve(event: DpEvent) -> Array:
    from dp_accounting import NeighboringRelation
    from dp_accounting.rdp import RdpAccountant

    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    floor = np.zeros_like(_orders())
    if isinstance(event, PoissonSampledDpEvent):
        # dp_accounting's sums may round to less than the divergence, even to less than zero, which it
        # would read as ε = 0.
        floor = sampled_gaussian_rdp(event.sampling_probability, event.event.noise_multiplier, _orders())
    elif isinstance(event, SampledWithoutReplacementDpEvent):
        relation = NeighboringRelation.REPLACE_ONE
        noise = GaussianDpEvent(min(event.event.noise_multiplier, _MOST_NOISE_AT_FIXED_SIZE))
        event = SampledWithoutReplacementDpEvent(event.source_dataset_size, event.sample_size, noise)
    with _without_warnings_of_orders():
        curve: Array = np.maximum(RdpAccountant(neighboring_relation=relation).compose(event).rdp, floor)
    curve.flags.writeable = False
    return curve


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
