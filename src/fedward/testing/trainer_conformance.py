"""The promises of a local trainer, and of one that protects its own user."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, get_args

import cloudpickle
import numpy as np
import torch
from torch import Tensor, nn

from fedward.base.randomness import Source
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.parameters import FlatModule
from fedward.core.types import LocalTrainer, PrivateTrainer, Scheduled
from fedward.privacy.events import ADJACENCIES, check_event
from fedward.privacy.guarantee import Unit
from fedward.testing.conformance import (
    Conformance,
    Promise,
    broken,
    check_promises,
    not_applicable,
    promises_of,
)
from fedward.testing.part_value import VALUE_PROMISES
from fedward.testing.repeatable import in_short, require_repeatable, same_bits
from fedward.testing.small_world import small_model, small_table

_BOUNDS = (0.5,)


@dataclass(frozen=True)
class _Trial:
    """A trainer, with a model and a federation that it is tried on."""

    trainer: Any
    model: nn.Module
    federation: Federation

    def update(self, trainer: LocalTrainer, examples: Examples, *, seed: int = 0) -> Tensor:
        """What training changes."""
        model = FlatModule(copy.deepcopy(self.model))
        start = model.parameters.clone()
        norm = trainer.train(model, examples, np.random.default_rng(seed))
        if norm is not None and not 0 <= norm < math.inf:
            broken(f"train returned {norm!r}", "Return the norm of the update before its own noise, or None")
        return model.parameters - start

    def largest_user(self) -> Examples:
        return self.federation.user(int(self.federation.sizes.argmax()))


def _trainer(trial: _Trial) -> Any:
    return trial.trainer


def check_local_trainer(
    trainer: LocalTrainer, *, model: nn.Module | None = None, federation: Federation | None = None
) -> Conformance:
    """Runs every promise of ``fedward.core.types.LocalTrainer``, and of ``PrivateTrainer`` if it is one.

    Args:
      model: a model that it can train; a small network of two layers if not given.
      federation: data for that model; a small table if not given.
    """
    data = small_table() if federation is None else federation
    trial = _Trial(trainer, small_model(data) if model is None else model, data)
    values = promises_of(_trainer, VALUE_PROMISES)
    return check_promises("local trainer", trial, (*values, *_PROMISES), name=repr(trainer))


def _writes_the_round_into_a_copy(trial: _Trial) -> None:
    before = copy.deepcopy(trial.trainer)
    for t in (0, 3, 50):
        ready = trial.trainer.at_round(t, _BOUNDS)
        if ready != trial.trainer.at_round(t, _BOUNDS):
            broken(
                f"at_round({t}, {_BOUNDS}) gave two trainers that differ",
                "Return equal trainers for equal rounds",
            )
    if trial.trainer != before:
        broken("at_round changed the trainer itself", "Return dataclasses.replace(self, ...), or self")


def _trains(trial: _Trial) -> None:
    ready, examples = trial.trainer.at_round(0, _BOUNDS), trial.largest_user()
    update = require_repeatable(
        lambda: trial.update(ready, examples), "train", examples, trial.federation.examples
    )
    if not bool(torch.isfinite(update).all()):
        broken(f"training gave the update {in_short(update)}", "Let a small step on plain data stay finite")
    if not bool(update.any()):
        broken("training changed nothing", "Change model.parameters in place: model.weights.add_(...)")


def _equal_trainers_train_alike(trial: _Trial) -> None:
    ready, examples = trial.trainer.at_round(0, _BOUNDS), trial.largest_user()
    there = cloudpickle.loads(cloudpickle.dumps(ready))
    here = trial.update(ready, examples)
    if not same_bits(trial.update(there, examples), here) or not same_bits(
        trial.update(ready, examples), here
    ):
        broken(
            "an equal trainer in a worker process, or the same one a second time, gave another update",
            "Let the update depend on the fields, the model, the examples and rng alone",
        )


def _trains_on_one_example(trial: _Trial) -> None:
    ready = trial.trainer.at_round(0, _BOUNDS)
    update = trial.update(ready, trial.largest_user().span(0, 1))
    if not bool(torch.isfinite(update).all()):
        broken(
            f"one example gave the update {in_short(update)}", "Divide by nothing that is 0 for one example"
        )


def _knows_decisive_rounds(trial: _Trial) -> None:
    if not isinstance(trial.trainer, Scheduled):
        not_applicable("it does not say in which rounds it could fail, so it is tried in all of them")
    for rounds in (1, 7, 100):
        decisive = list(trial.trainer.decisive_rounds(rounds))
        if not decisive or not all(0 <= t < rounds for t in decisive):
            broken(f"decisive_rounds({rounds}) is {decisive}", f"Return some of the rounds 0 to {rounds - 1}")


def _protects_itself(trial: _Trial) -> None:
    trainer = _private(trial)
    if trainer.unit not in get_args(Unit):
        broken(f"unit is {trainer.unit!r}", "Return 'user' or 'example'")
    if trainer.adjacency not in ADJACENCIES:
        broken(f"adjacency is {trainer.adjacency!r}", f"Return one of {', '.join(ADJACENCIES)}")
    if trainer.noise_source not in get_args(Source):
        broken(f"noise_source is {trainer.noise_source!r}", "Return 'seeded' or 'system'")
    for t in (0, 3):
        check_event(trainer.local_event(t))


def _draws_its_own_noise(trial: _Trial) -> None:
    if _private(trial).noise_source != "seeded":
        not_applicable("its noise comes from the operating system")
    ready, examples = trial.trainer.at_round(0, _BOUNDS), trial.largest_user()
    updates = [trial.update(ready, examples, seed=seed) for seed in (0, 1)]
    if bool((updates[0] == updates[1])[updates[0] != 0].any()):
        broken(
            "some coordinates of its update have no noise: they are the same for two streams",
            "Add noise from rng to every coordinate that it changes",
        )


def _refuses_batch_norm(trial: _Trial) -> None:
    trainer = _private(trial)
    if trainer.unit == "user":
        not_applicable("it hides all data of a user together, whose update is clipped as one")
    x = trial.largest_user().batch(torch.arange(1))[0]
    mixing = nn.Sequential(trial.model, nn.BatchNorm1d(trial.federation.num_classes))
    try:
        trainer.check_model(mixing, x)
    except InvalidValue:
        return
    broken(
        "check_model took a model with batch normalisation, which mixes examples",
        "Call fedward.core.check.refuse_batch_norm(module) in check_model",
    )


def _private(trial: _Trial) -> PrivateTrainer:
    if not isinstance(trial.trainer, PrivateTrainer):
        not_applicable("it does not protect its own user, and claims nothing of the kind")
    return trial.trainer


_PROMISES: tuple[Promise[_Trial], ...] = (
    Promise(says="writes the round into a copy of itself", check=_writes_the_round_into_a_copy),
    Promise(says="trains to the same bits again and writes to no data", check=_trains),
    Promise(says="trains alike wherever it is", check=_equal_trainers_train_alike),
    Promise(says="trains on one example", check=_trains_on_one_example),
    Promise(says="names rounds that there are as decisive", check=_knows_decisive_rounds),
    Promise(says="declares what its own noise protects", check=_protects_itself),
    Promise(says="adds noise to all that it sends", check=_draws_its_own_noise),
    Promise(says="refuses models that mix examples", check=_refuses_batch_norm),
)
