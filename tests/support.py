"""Small real parts that many tests use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedward.core.algorithm import Algorithm
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.poison import poison_data
from fedward.core.receive import receive
from fedward.core.round import finish_round, plan_round
from fedward.core.types import (
    Adversary,
    Bounds,
    Knowledge,
    LocalTrainer,
    Plan,
    RoundLog,
    Row,
    ServerState,
    Sight,
)
from fedward.local import SGD
from fedward.presets import user_dp_fedavg
from fedward.sampling import PoissonSampler


def tiny_federation(num_users: int = 12, per_user: int = 5, features: int = 3, seed: int = 0) -> Federation:
    rng = np.random.default_rng(seed)
    n = num_users * per_user
    x = rng.normal(size=(n, features)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    test = rng.normal(size=(40, features)).astype(np.float32)
    users = np.repeat(np.arange(num_users), per_user)
    return Federation.from_arrays(x, y, users, test=(test, (test[:, 0] > 0).astype(np.int64)))


def tiny_model(features: int = 3, classes: int = 2, seed: int = 0) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(features, 4), nn.Tanh(), nn.Linear(4, classes))


def tiny_pictures(num_users: int = 12, per_user: int = 6, seed: int = 0) -> Federation:
    """Pictures of 4 x 4 pixels in 3 classes, bright or dark; every user owns some of each class."""
    rng = np.random.default_rng(seed)

    def pictures(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        y = np.arange(count) % 3
        brightness = rng.uniform(0.2, 1.0, size=(count, 1, 1, 1))
        x = rng.uniform(size=(count, 1, 4, 4)) * brightness
        x[np.arange(count), 0, y, y] = 1.0
        return x.astype(np.float32), y

    x, y = pictures(num_users * per_user)
    users = np.repeat(np.arange(num_users), per_user)
    return Federation.from_arrays(x, y, users, test=pictures(90))


def tiny_picture_model(seed: int = 0) -> nn.Module:
    return nn.Sequential(nn.Flatten(), tiny_model(features=16, classes=3, seed=seed))


def flat_inputs(examples: Examples) -> Tensor:
    """The inputs of examples that are all of one shape."""
    assert isinstance(examples.x, Tensor)
    return examples.x


def tiny_sgd(**changes: Any) -> SGD:
    return SGD(**({"learning_rate": 0.1, "batch_size": 2, "epochs": 1} | changes))


def tiny_algorithm(num_users: int = 12, **changes: Any) -> Algorithm:
    arguments: dict[str, Any] = {
        "num_users": num_users,
        "sampler": PoissonSampler(rate=0.5),
        "local": tiny_sgd(),
        "clip_bound": 0.7,
        "noise_multiplier": 1.0,
    }
    return user_dp_fedavg(**(arguments | changes))


def plan_simulated(
    algorithm: Algorithm, state: ServerState, federation: Federation, adversary: Adversary | None, seed: int
) -> Plan:
    """The plan of a round with the adversary's data in it, as a simulation trains it."""
    return poison_data(plan_round(algorithm, state, federation.roster, adversary, seed), federation, seed)


def one_round(
    algorithm: Algorithm,
    state: ServerState,
    federation: Federation,
    send: Callable[[int], Any],
    *,
    seed: int = 1,
    adversary: Adversary | None = None,
) -> tuple[ServerState, RoundLog, Plan]:
    """A round in which user u sends ``send(u)`` whatever its job was."""
    plan = plan_simulated(algorithm, state, federation, adversary, seed)
    reserved = replace(state, ledger=state.ledger.reserve(plan.round, plan.event))
    rows = [Row(job.user, send(job.user)) for job in plan.jobs]
    received = receive(algorithm, reserved, plan, rows, seed)
    state, log = finish_round(algorithm, reserved, plan, received, seed)
    return state, log, plan


class Tamperer:
    """An adversary that sends what it is told to, on its own or on poisoned data."""

    rounds: tuple[int, ...] | None = None
    per_cohort: int | None = None

    def __init__(
        self, users: set[int], sent: Callable[[int, Tensor], Any], data: Examples | None = None
    ) -> None:
        self.users = frozenset(users)
        self.knowledge: Knowledge = "own"
        self.needs_all_rows = False
        self._sent, self._data = sent, data

    def poison(
        self, user: int, examples: Examples, round: int, rng: np.random.Generator
    ) -> tuple[str, Examples] | None:
        return None if self._data is None else ("poisoned", self._data)

    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
        return trainer

    def tamper(self, user: int, update: Tensor, sight: Sight, rng: np.random.Generator) -> Any:
        return self._sent(user, update)
