"""A certificate of few examples from few replicas."""

from __future__ import annotations

from typing import Any

import numpy as np
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from fedward.certificates.certificate import draw_of_setting
from fedward.certificates.confidence import Confidence
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.setting import Setting
from fedward.privacy import Ledger

M, N = 100, 4
EVENT = PoissonSampledDpEvent(0.1, GaussianDpEvent(2.0))


def ledger(event: Any = EVENT, rounds: int = 3, **changes: Any) -> Ledger:
    arguments = {
        "unit": "user",
        "adjacency": "add/remove",
        "noise_source": "seeded",
    }
    return Ledger(**(arguments | changes)).charged(event, rounds)


def setting(**changes: Any) -> Setting:
    arguments: dict[str, Any] = {
        "ledger": ledger(),
        "users": 200,
        "confidence": Confidence(looks=(M,), error=0.05),
        "delta": 0.0029,
        "accountant": "rdp",
        "initial_model": "a1",
        "data": "b2",
        "threats": ("inject", "compromise"),
    }
    return Setting(**(arguments | changes))


def replicas(**changes: Any) -> Replicas:
    rng = np.random.default_rng(2)
    # From an example that is nearly certain to one that is level.
    scores = np.stack([rng.dirichlet([a, 1.0, 1.0], M) for a in (40, 12, 5, 1)], axis=1)
    arguments: dict[str, Any] = {
        "scores": scores,
        "numbers": np.arange(M),
        "seed": 7,
        "labels": [0, 1, 0, 0],
    }
    return Replicas(**(arguments | changes))


def bound(**changes: Any) -> Replicas:
    """The same replicas, drawn for what is claimed in ``setting()``."""
    return replicas(draw=draw_of_setting(setting(), "confidence"), **changes)
