"""Small algorithms in which users protect themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from dp_accounting import DpEvent
from torch import Tensor, nn

import fedward
from fedward.base.randomness import Source
from fedward.core.algorithm import Algorithm
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds, ServerState
from fedward.local import DPSGD
from fedward.presets import insdp_fedavg, ldp_fedsgd
from fedward.privacy.events import Adjacency
from fedward.privacy.guarantee import Unit
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


@dataclass(frozen=True, kw_only=True)
class OwnStream:
    """DP-SGD that draws everything from the stream that it is given, which must then be nobody else's."""

    inner: DPSGD
    unit: Unit = "example"
    adjacency: Adjacency = "add/remove"
    noise_source: Source = "system"

    def local_event(self, round: int) -> DpEvent:
        return self.inner.local_event(round)

    def check_model(self, module: nn.Module, x: Tensor) -> None:
        self.inner.check_model(module, x)

    def at_round(self, round: int, bounds: Bounds) -> OwnStream:
        return replace(self, inner=self.inner.at_round(round, bounds))

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        self.inner.train(model, examples, rng)


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
    steps = fedward.rounds(algorithm, MODEL, FEDERATION, rounds=rounds, seed=seed, replica=replica)
    return list(steps)[-1][0]


FEDSGD: dict[str, Any] = {"num_users": 12, "sampler": FixedSizeSampler(size=6), "local": dp_sgd()}
