"""Presets in which users protect themselves, as small as tests need them."""

from __future__ import annotations

from typing import Any

import fedward
from core import self_protected
from fedward.clipping import HistogramMedian, Quantile
from fedward.core.algorithm import Algorithm
from fedward.local import DPSGD
from fedward.privacy.user_ledgers import UserLedgers
from fedward.sampling import FixedSizeSampler, PoissonSampler
from support import tiny_model

FEDERATION = self_protected.FEDERATION
QUANTILE = Quantile(initial=0.05, quantile=0.5, bit_noise=2.0, expected_cohort=12)
HISTOGRAM = HistogramMedian(
    initial=0.05, least=0.001, most=10.0, bins=10, look_noise=2.0, every=2, most_looks=3
)


def dp_sgd(**changes: Any) -> DPSGD:
    return self_protected.dp_sgd(**({"steps": 2} | changes))


def users_of(algorithm: Algorithm, rounds: int = 3, seed: int = 1) -> UserLedgers:
    state, _ = list(fedward.rounds(algorithm, tiny_model(), FEDERATION, rounds=rounds, seed=seed))[-1]
    assert state.users is not None
    return state.users


FIGURE_12: dict[str, Any] = {
    "num_users": 30,
    "sampler": FixedSizeSampler(size=20),
    "local": dp_sgd(steps=1, noise_multiplier=3.0, clip_bound=1.5),
}


def ldp(**changes: Any) -> Algorithm:
    return self_protected.ldp(**({"sampler": PoissonSampler(rate=0.5)} | changes))
