"""A node at work: it answers one message with what its rules and its ledger let it answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from dp_accounting import ComposedDpEvent, DpEvent, GaussianDpEvent
from torch import Tensor, nn

from fedward.attacks.attacker import Attacker
from fedward.backends.engines.choice import Choice, Engine
from fedward.base.randomness import stream
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.check import refuse_batch_norm, refuse_own_tensors
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job, LocalTrainer, PrivateTrainer, Row, Sight
from fedward.deploy.node.node_ledger import NodeLedger
from fedward.deploy.node.node_rules import Rules
from fedward.deploy.wire.messages import Answer, Greeting, Presence, Task, layout_of
from fedward.deploy.wire.packet import Packet
from fedward.privacy.events import multiplier

Users = Mapping[str, Any] | Sequence[Any]
"""The users of a node: their examples by name, or in order where the server has declared their number."""


class Refused(InvalidValue):
    """What a server asked for and this node's rules do not allow."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """One party's side of the federation.

    Args:
      model: gives the layout; its parameters come with every task.
      users: the examples of each user, by the name that the server has declared.
      rules: of whoever owns the data.
      place: which node of a simulation it is; -1 in the real thing, where its key says who it is.
      engine: as everywhere.
      staged: the attack that its users carry out, where one is staged.
      attack_seed: of all that such an attack draws.
    """

    model: nn.Module
    users: Mapping[str, Examples]
    rules: Rules
    place: int = -1
    engine: Choice | None = None
    staged: Attacker | None = None
    attack_seed: int = 0

    def greet(self, packet: Packet) -> Packet:
        """Says whether this node has what the server has declared; no user is asked for anything."""
        greeting = Greeting.from_packet(packet)
        declared = set(self.users) if greeting.users is None else set(greeting.users)
        refuses = ""
        try:
            self._require_allowed(greeting.trainer, seeded=False, looks=greeting.looks)
        except InvalidValue as error:
            refuses = str(error)
        return Presence(
            place=self.place,
            layout=layout_of(ParameterSpec.of(self.model)),
            missing=len(declared - set(self.users)),
            undeclared=len(set(self.users) - declared),
            refuses=refuses,
        ).to_packet()

    def answer(self, packet: Packet) -> Packet:
        """Trains the users that were drawn, as far as rules and ledger allow."""
        task = Task.from_packet(packet, ParameterSpec.of(self.model))
        left_out: Counter[str] = Counter()
        here = [name for name in task.users if name in self.users]
        left_out["unknown"] = len(task.users) - len(here)
        allowed = self._allowed(task, here)
        left_out["budget"] = len(here) - len(allowed)
        rows, norms = self._train(task, [name for name in here if name in allowed])
        left_out["failed"] = len(allowed) - len(rows)
        return Answer(rows=rows, norms=norms, left_out=left_out).to_packet(task.parameters)

    def _allowed(self, task: Task, here: list[str]) -> frozenset[str]:
        """Those of the drawn users that may train; whatever they release has been charged then."""
        trainer = task.trainer
        self._require_allowed(trainer, seeded=task.seeds is not None, looks=task.looks)
        if self.rules.trust_server or not isinstance(trainer, PrivateTrainer):
            return frozenset(here)
        assert self.rules.ledger is not None  # rules are checked when they are made
        ledger = NodeLedger(self.rules.ledger, self.rules.budget)
        return ledger.charge(here, trainer, _event(trainer, task))

    def _require_allowed(self, trainer: LocalTrainer, *, seeded: bool, looks: tuple[float, ...]) -> None:
        """Refuses what the rules of this node do not let leave it."""
        rules = self.rules
        if not isinstance(trainer, PrivateTrainer):
            if not rules.trust_server:
                raise Refused(
                    "this node lets nothing leave that its users have not protected themselves "
                    f"(trust_server = false), and was asked for {type(trainer).__name__}"
                )
            return
        if (seeded or trainer.noise_source != "system") and not rules.seeded_noise:
            raise Refused(
                "noise must come from this node's own entropy (noise_source = 'system'), got noise from "
                "seeds that the server knows; rules with seeded_noise = true allow it, for research"
            )
        if looks and not rules.show_norms:
            raise Refused(
                "this node does not tell norms (show_norms = false), and was asked for them by a clip policy"
            )
        refuse_batch_norm(self.model)
        refuse_own_tensors(self.model)
        one = next(iter(self.users.values())).batch(torch.arange(1))[0]
        trainer.check_model(self.model, one)

    def _train(self, task: Task, names: list[str]) -> tuple[dict[str, Tensor], dict[str, float]]:
        engine = Engine(self.model, "cpu", self.engine)
        rows: dict[str, Tensor] = {}
        norms: dict[str, float] = {}
        seeds = dict(zip(task.users, task.seeds, strict=True)) if task.seeds is not None else {}
        for name in names:
            trainer, own = self._prepared(task, name)
            job = Job(
                parameters=task.parameters,
                user=0,
                num_examples=len(own),
                trainer=trainer,
                seed=seeds.get(name),
                private=isinstance(trainer, PrivateTrainer),
                round=task.round,
            )
            try:
                row: Row = engine.train(job, own)
            except TrainingFailed:
                continue
            rows[name] = row.update
            if task.looks and row.norm is not None:
                norms[name] = row.norm
        if self.staged is not None:
            rows = self._tampered(task, rows)
        return rows, norms

    def _prepared(self, task: Task, name: str) -> tuple[LocalTrainer, Examples]:
        """The trainer and the examples of a user; those of an attacker, where an attack is staged."""
        own = self.users[name]
        if self.staged is None:
            return task.trainer, own
        number = self._number(name)
        rng = stream(self.attack_seed, "poisoning", user=number)
        bad = self.staged.poison(number, own.select(torch.arange(len(own))), task.round, rng)
        trainer = self.staged.trainer(task.trainer, task.round, task.bounds)
        # A node keeps no model of an earlier round.
        again = stream(self.attack_seed, "poisoning", user=number)
        trainer = self.staged.brief(trainer, number, own, task.round, again, None)
        return trainer, own if bad is None else bad[1]

    def _tampered(self, task: Task, rows: dict[str, Tensor]) -> dict[str, Tensor]:
        assert self.staged is not None
        sight = Sight(
            round=task.round,
            parameters=task.parameters.clone(),
            bounds=task.bounds,
            own={self._number(name): row.clone() for name, row in rows.items()},
        )
        sent = {}
        for name, row in rows.items():
            number = self._number(name)
            rng = stream(self.attack_seed, "tampering", round=task.round, user=number)
            sent[name] = self.staged.tamper(number, row, sight, rng)
        return sent

    def _number(self, name: str) -> int:
        return list(self.users).index(name)


def read_users(given: Users) -> dict[str, Examples]:
    """The users of a node as whoever loads them gives them: examples, or inputs with labels."""
    if isinstance(given, Mapping):
        named = {str(name): own for name, own in given.items()}
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        named = {str(number): own for number, own in enumerate(given)}
    else:
        raise InvalidType(f"users must be a dictionary by name or a list, got {type(given).__name__}")
    if not named:
        raise InvalidValue("a node must have at least one user, got none")
    return {name: _examples(name, own) for name, own in named.items()}


def _examples(name: str, own: Any) -> Examples:
    if isinstance(own, Examples):
        examples = own
    elif isinstance(own, tuple) and len(own) == 2:
        examples = Examples.from_arrays(*own)
    else:
        raise InvalidType(
            f"data of user {name} must be Examples, or inputs and labels, got {type(own).__name__}"
        )
    if not len(examples):
        raise InvalidValue(f"user {name} has no examples; every user must own at least one")
    return examples


def _event(trainer: PrivateTrainer, task: Task) -> DpEvent:
    """What a round costs a user that takes part: its own noise, and the looks that the server declares."""
    own = trainer.local_event(task.round)
    if not task.looks:
        return own
    looks = [GaussianDpEvent(multiplier(each)) for each in task.looks]
    return ComposedDpEvent([own, *looks])
