"""The promises of a preset: a function that returns an algorithm whose guarantee is known beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cloudpickle
import torch
from torch import nn

from fedward.backends import InProcess
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.train import train
from fedward.core.types import ServerState
from fedward.testing.aggregator_conformance import check_aggregator, check_rule
from fedward.testing.conformance import Conformance, Promise, broken, check_promises, function_name
from fedward.testing.mechanism_conformance import check_mechanism
from fedward.testing.norm_conformance import check_norm
from fedward.testing.policy_conformance import check_clip_policy
from fedward.testing.repeatable import in_short, require_repeatable, same_bits
from fedward.testing.sampler_conformance import check_sampler
from fedward.testing.server_conformance import check_server
from fedward.testing.small_world import small_model, small_table
from fedward.testing.trainer_conformance import check_local_trainer

_ROUNDS = 3
_DELTA, _ACCOUNTANT = 1e-3, "rdp"


@dataclass(frozen=True)
class _Trial:
    """A preset, and what it is tried on."""

    make: Callable[[], Any]
    model: nn.Module
    federation: Federation

    def states(self, start: ServerState | None = None) -> list[ServerState]:
        backend = InProcess(self.model, self.federation)
        rounds = train(self.make(), self.model, self.federation, backend, rounds=_ROUNDS, seed=1, state=start)
        return [state for state, _ in rounds]


def check_preset(
    make: Callable[[], Algorithm], *, model: nn.Module | None = None, federation: Federation | None = None
) -> Conformance:
    """Runs every promise of an algorithm and of each of its parts.

    Args:
      make: takes nothing and returns the ``Algorithm``: ``lambda: my_preset(num_users=12, ...)``.
      model: a model that it can train; a small network of two layers if not given.
      federation: data for that model; a small table of twelve users if not given.
    """
    data = small_table() if federation is None else federation
    trial = _Trial(make, small_model(data) if model is None else model, data)
    return check_promises("preset", trial, _PROMISES, name=function_name(make, "the preset"))


def _returns_an_algorithm(trial: _Trial) -> None:
    algorithm = trial.make()
    if not isinstance(algorithm, Algorithm):
        broken(f"it returned {in_short(algorithm)}", "Return a fedward.Algorithm")
    if not algorithm.name.isidentifier():
        broken(f"its algorithm is called {algorithm.name!r}", "Give it a name that files can have: my_preset")
    if algorithm != trial.make():
        broken("two calls gave algorithms that differ", "Let it depend on its arguments alone")
    if algorithm != cloudpickle.loads(cloudpickle.dumps(algorithm)):
        broken("a pickled copy of its algorithm is not equal to it", "Compose it of frozen dataclasses")


def _trains(trial: _Trial) -> None:
    ends = require_repeatable(lambda: [state.parameters for state in trial.states()], "a training")
    if not all(bool(torch.isfinite(each).all()) for each in ends):
        broken("the model is not finite after three rounds on plain data", "Look at learning rates and noise")
    first, *_ = trial.states()
    if not same_bits(trial.states(first)[-1].parameters, ends[-1]):
        broken("a training that went on from its first round ended with other bits", "Keep no state in parts")


def _guarantees_what_it_says(trial: _Trial) -> None:
    algorithm, end = trial.make(), trial.states()[-1]
    promised = algorithm.guarantee(trial.federation.num_users, _ROUNDS, _DELTA, _ACCOUNTANT)
    if end.users is not None:
        worst = end.users.guarantees(_DELTA, _ACCOUNTANT).worst
        if not 0 < worst.epsilon <= promised.epsilon:
            broken(
                f"a user spent ε = {worst.epsilon:.4g}, and {promised.epsilon:.4g} was promised beforehand",
                "Let user_event be what a user spends that is drawn in every round",
            )
        return
    spent = end.ledger.guarantee(_DELTA, _ACCOUNTANT)
    if spent != promised:
        broken(
            f"it spent {spent}, and promised {promised}",
            "Let events depend on the round, not on what was seen",
        )
    if spent.private == bool(algorithm.unproven):
        broken(
            f"unproven is {algorithm.unproven!r}, and private is {spent.private}",
            "Give no ε where something is unproven",
        )


def _has_sound_parts(trial: _Trial) -> None:
    algorithm, users = trial.make(), trial.federation.num_users
    check_sampler(algorithm.sampler, num_users=users)
    check_local_trainer(algorithm.local, model=trial.model, federation=trial.federation)
    check_norm(algorithm.norm)
    check_clip_policy(algorithm.policy)
    check_aggregator(algorithm.aggregator)
    rule = getattr(algorithm.aggregator, "rule", None)
    if rule is not None:
        check_rule(rule)
    check_mechanism(algorithm.mechanism)
    check_server(algorithm.server)


_PROMISES: tuple[Promise[_Trial], ...] = (
    Promise(says="returns an algorithm, equal each time", check=_returns_an_algorithm),
    Promise(says="trains to the same bits again, and from a stored state", check=_trains),
    Promise(says="spends what it promised beforehand", check=_guarantees_what_it_says),
    Promise(says="is made of parts that keep their own promises", check=_has_sound_parts),
)
