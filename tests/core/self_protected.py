"""Small algorithms in which users protect themselves."""

from __future__ import annotations

from typing import Any

import fedward
from fedward.core.algorithm import Algorithm
from fedward.core.parameters import FlatModule
from fedward.core.types import ServerState
from fedward.local import DPSGD
from fedward.presets import insdp_fedavg, ldp_fedsgd
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from support import tiny_federation, tiny_model

FEDERATION = tiny_federation()
MODEL = tiny_model()
START = FlatModule(MODEL).parameters.clone()


def dp_sgd(**changes: Any) -> DPSGD:
    fields: dict[str, Any] = {
        "learning_rate": 0.1,
        "probability": 0.4,
        "expected_batch": 2.0,
        "steps": 1,
        "noise_multiplier": 1.0,
        "clip_bound": 0.5,
    }
    return DPSGD(**(fields | changes))


def insdp(**changes: Any) -> Algorithm:
    fields: dict[str, Any] = {"num_users": 12, "sampler": PoissonSampler(rate=0.5), "local": dp_sgd()}
    return insdp_fedavg(**(fields | changes))


def ldp(**changes: Any) -> Algorithm:
    fields: dict[str, Any] = {
        "num_users": 12,
        "sampler": EveryoneSampler(),
        "noise_multiplier": 3.0,
        "clip_bound": 0.1,
    }
    return ldp_fedsgd(**(fields | changes))


def end(algorithm: Algorithm, *, replica: int = 0, rounds: int = 2, seed: int = 1) -> ServerState:
    steps = fedward.train(algorithm, MODEL, FEDERATION, rounds=rounds, seed=seed, replica=replica)
    return list(steps)[-1][0]


FEDSGD: dict[str, Any] = {"num_users": 12, "sampler": FixedSizeSampler(size=6), "local": dp_sgd()}
