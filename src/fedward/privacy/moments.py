"""The accountant that the papers use: Rényi divergences at their orders, with their conversion."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from fedward.privacy.accounting_events import DpEvent, GaussianDpEvent, PoissonSampledDpEvent
from fedward.privacy.events import Adjacency
from fedward.privacy.sampled_gaussian import Array, sampled_gaussian_rdp
from fedward.privacy.spending import Spending, non_private, refuse_allocation, require_proof

ORDERS: Array = np.array([1 + x / 10 for x in range(1, 100)] + [float(x) for x in range(12, 64)])
ORDERS.flags.writeable = False


def moments(spending: Spending, delta: float, adjacency: Adjacency) -> float:
    """ε by Rényi divergences at the papers' orders and their conversion.

        ε = min_α Σ RDP(α) + log(1/δ) / (α - 1),   α in 1.1, 1.2, ..., 10.9, 12, 13, ..., 63

    Guarantee: proven for Poisson sampling under add/remove and for plain Gaussians, though about twice what
    ``pld`` proves. Fixed-size sampling of m out of N is read as the papers do: as Poisson sampling with
    q = m/N and half the sensitivity that replace-one has. As a guarantee that is false, for some settings by
    far; ``Guarantee.proven`` says so.

    Args:
      spending: events and how often each happened.
      delta: δ.
      adjacency: what the events' noise multipliers are relative to.

    >>> event = PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
    >>> round(moments([(event, 3)], 0.0029, "add/remove"), 4)
    0.2808

    Abadi et al. 2016; Mironov 2017; as used by Xie et al. and Miao et al.
    """
    parts = require_proof(spending, delta, adjacency)
    refuse_allocation(parts, "moments")
    if non_private(parts):
        return math.inf
    if not parts:
        return 0.0
    total = sum((count * _curve(*_as_poisson(event)) for event, count in parts), np.zeros_like(ORDERS))
    return float((total - math.log(delta) / (ORDERS - 1.0)).min())


def _as_poisson(event: DpEvent) -> tuple[float, float]:
    """Sampling rate and noise multiplier, as the papers read an event."""
    if isinstance(event, GaussianDpEvent):
        return 1.0, event.noise_multiplier
    if isinstance(event, PoissonSampledDpEvent):
        return event.sampling_probability, event.event.noise_multiplier
    return event.sample_size / event.source_dataset_size, 2.0 * event.event.noise_multiplier


# A search for a noise or a number of rounds asks for the same curve again and again.
@lru_cache(maxsize=256)
def _curve(sampling_rate: float, noise_multiplier: float) -> Array:
    curve = sampled_gaussian_rdp(sampling_rate, noise_multiplier, ORDERS)
    curve.flags.writeable = False
    return curve
