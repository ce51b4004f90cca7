"""The promises of an attack: of its parts, of who carries it out, and of the whole in a training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedward.aggregation import AllRows, CoordinateMedian
from fedward.attacks import Attack, NamedUsers, Staged
from fedward.attacks.attack_types import ModelPoisoning, Poisoning, Who
from fedward.attacks.poisoning import Unprepared
from fedward.backends import InProcess
from fedward.base.validate import InvalidType, InvalidValue
from fedward.clipping import NoClipping
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.poison import poison_data
from fedward.core.receive import receive
from fedward.core.round import plan_round
from fedward.core.train import train
from fedward.core.types import Job, ServerState
from fedward.mechanisms import NoNoise
from fedward.presets import insdp_fedavg
from fedward.sampling import FixedSizeSampler
from fedward.testing.conformance import Conformance, Promise, broken, check_promises, promises_of
from fedward.testing.part_value import VALUE_PROMISES
from fedward.testing.poisoning_conformance import PoisoningTrial, poisoning_promises
from fedward.testing.repeatable import left_alone, require_repeatable, same_bits
from fedward.testing.small_world import USERS, small_algorithm, small_model, small_pictures
from fedward.testing.tampering_conformance import TAMPERING_PROMISES, private_trainer

_ATTACKERS = (1, 4, 9)
_ROUNDS = 3


def check_attack(
    attack: Attack | Poisoning | Unprepared | ModelPoisoning | Who,
    *,
    federation: Federation | None = None,
    model: nn.Module | None = None,
) -> Conformance:
    """Runs every promise of an attack, or of a part of one: bad data, a bad update, or who attacks.

    A part is also put into an attack and carried out.

    Args:
      federation: at least twelve users whose data can be attacked; small pictures if not given.
      model: for that data; a small network of two layers if not given.
    """
    data = small_pictures() if federation is None else federation
    if data.num_users < USERS:
        raise InvalidValue(f"an attack is tried on at least {USERS} users, got {data.num_users}")
    net = small_model(data) if model is None else model
    part: Any = attack
    if isinstance(attack, Attack):
        return check_promises("attack", attack, (*VALUE_PROMISES, *_in_training(data, net)))
    if callable(getattr(part, "tamper", None)):
        return check_promises("poisoning of updates", part, (*TAMPERING_PROMISES, *_in_training(data, net)))
    if callable(getattr(part, "poison", None)) or callable(getattr(part, "prepared", None)):
        own: tuple[Promise[Any], ...] = promises_of(
            lambda part: PoisoningTrial(part, data), poisoning_promises()
        )
        return check_promises("poisoning of data", part, (*own, *_in_training(data, net)))
    if callable(getattr(part, "choose", None)):
        return check_promises("choice of attackers", part, (*VALUE_PROMISES, *_who_promises(data)))
    raise InvalidType(
        "an attack must have poison (bad data), tamper (a bad update) or choose (who attacks), "
        f"got {attack!r}"
    )


def _attack_by(part: Any, federation: Federation) -> Attack:
    """The attack itself, or one that consists of a part alone, with the least knowledge that it needs."""
    if isinstance(part, Attack):
        return part
    who = NamedUsers(users=tuple(federation.names[list(_ATTACKERS)].tolist()))
    if callable(getattr(part, "tamper", None)):
        return Attack(who=who, model=(part,), knowledge=part.needs)
    return Attack(who=who, data=(part,))


@dataclass(frozen=True)
class _Trial:
    """A training under attack."""

    staged: Staged
    model: nn.Module

    def train(self, state: ServerState | None = None) -> list[ServerState]:
        staged, backend = self.staged, InProcess(self.model, self.staged.federation)
        rounds = train(
            staged.algorithm,
            self.model,
            staged.federation,
            backend,
            rounds=_ROUNDS,
            seed=1,
            adversary=staged.adversary,
            state=state,
        )
        return [state for state, _ in rounds]

    def sent(self, *, attacked: bool) -> list[tuple[Job, Tensor | None]]:
        """The jobs of the first round, and what the server got of each; None for what it rejected."""
        staged, rule = self.staged, AllRows(rule=CoordinateMedian())
        algorithm = replace(staged.algorithm, aggregator=rule, mechanism=NoNoise())
        if algorithm.server_clips:
            algorithm = replace(algorithm, policy=NoClipping())
        backend = InProcess(self.model, staged.federation)
        state = algorithm.init(_start(self.model), num_users=staged.federation.num_users)
        adversary = staged.adversary if attacked else None
        plan = plan_round(algorithm, state, staged.federation.roster, adversary, 1)
        plan = poison_data(plan, staged.federation, 1)
        received = receive(algorithm, state, plan, backend.train(plan.jobs), 1)
        rows = iter(received.total)
        taken = [next(rows) if outcome == "taken" else None for _, outcome in received.outcomes]
        return list(zip(plan.jobs, taken, strict=True))


def _start(model: nn.Module) -> Tensor:
    return ParameterSpec.of(model).flatten(model)


def _algorithm_for(attack: Attack) -> Algorithm:
    """One that such attackers can take part in: who skips local privacy must have some."""
    if not any(part.conduct.skips_local_privacy for part in attack.model):
        return small_algorithm()
    return insdp_fedavg(num_users=USERS, sampler=FixedSizeSampler(size=10), local=private_trainer())


def _in_training(federation: Federation, model: nn.Module) -> tuple[Promise[Any], ...]:
    """What an attack promises when it is carried out."""

    def trial(part: Any) -> _Trial:
        attack = _attack_by(part, federation)
        return _Trial(attack.stage(_algorithm_for(attack), federation, 1, model), model)

    return (
        Promise(
            says="touches the data and rows of its own users only",
            check=lambda part: _touches_its_own(trial(part)),
        ),
        Promise(
            says="trains to the same bits again, and from a stored state",
            check=lambda part: _repeats_itself(trial(part)),
        ),
    )


def _touches_its_own(trial: _Trial) -> None:
    theirs = trial.staged.adversary.users
    with left_alone("the attack", trial.staged.federation):
        attacked, honest = (trial.sent(attacked=attacked) for attacked in (True, False))
    changed = False
    for (job, row), (other, plain) in zip(attacked, honest, strict=True):
        if job.user not in theirs:
            if job.examples is not None or job.trainer != other.trainer or not same_bits(row, plain):
                broken(
                    f"user {job.user}, who does not attack, sent something else",
                    "Change own rows and data only",
                )
        elif row is None:
            broken(
                f"the server rejected what user {job.user} sent: NaN, infinity or another shape",
                "Send finite updates of the shape that came: others achieve nothing",
            )
        else:
            changed = changed or not same_bits(row, plain)
    if theirs & {job.user for job, _ in attacked} and not changed:
        broken(
            "no attacker sent anything else than it would have honestly",
            "Let the attack change data or updates",
        )


def _repeats_itself(trial: _Trial) -> None:
    parameters = require_repeatable(
        lambda: [state.parameters for state in trial.train()], "a training under attack"
    )
    if not all(bool(torch.isfinite(each).all()) for each in parameters):
        broken("the model is not finite after a private training", "Send finite updates")
    first, *_ = trial.train()
    if not same_bits(trial.train(first)[-1].parameters, parameters[-1]):
        broken(
            "a training that went on from its first round ended with other bits",
            "Keep nothing in the attack from round to round",
        )


def _who_promises(federation: Federation) -> tuple[Promise[Who], ...]:
    def chooses(who: Who) -> None:
        users = require_repeatable(lambda: who.choose(federation, np.random.default_rng(0)), "choose")
        if not isinstance(users, frozenset) or not all(
            isinstance(user, int) and 0 <= user < federation.num_users for user in users
        ):
            broken(
                f"choose gave {users!r}", f"Return a frozenset of users from 0 to {federation.num_users - 1}"
            )
        each = who.per_cohort
        if each is not None and (isinstance(each, bool) or not isinstance(each, int) or each < 0):
            broken(f"per_cohort is {each!r}", "Return how many of them are in every cohort, or None")

    return (Promise(says="chooses users that there are, the same each time", check=chooses),)
