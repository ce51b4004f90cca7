"""The users who carry out an attack in one training: the core's adversary."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.attack_types import Briefed, ModelPoisoning, OwnWayToTrain, Poisoning
from fedward.attacks.poisoning.portion import none_of, poison_examples, poison_marked
from fedward.attacks.poisoning.unprepared import Following
from fedward.core.check_rounds import decisive
from fedward.core.examples import Examples
from fedward.core.types import Bounds, Knowledge, LocalTrainer, Sight


@dataclass(frozen=True, kw_only=True)
class Attacker:
    """Poisons data and updates of its users, one part after the other, in the rounds of its schedule.

    In other rounds its users do what they are told. Examples that are held out of honest users (a natural
    backdoor) are left out then: an attacker does not teach the model the truth about them.

    Made by ``Attack.stage``, which checks everything.
    """

    users: frozenset[int]
    knowledge: Knowledge
    rounds: tuple[int, ...] | None
    data: tuple[Poisoning, ...]
    model: tuple[ModelPoisoning, ...]
    per_cohort: int | None = None

    @property
    def needs_all_rows(self) -> bool:
        return any(part.conduct.needs_all_rows for part in self.model)

    @property
    def compares_models(self) -> bool:
        return any(part.conduct.compares_models for part in self.model)

    def active(self, round: int) -> bool:
        """Whether it attacks in this round."""
        return self.rounds is None or round in self.rounds

    def poison(
        self, user: int, examples: Examples, round: int, rng: np.random.Generator
    ) -> tuple[str, Examples] | None:
        attacker, attackers = sorted(self.users).index(user), len(self.users)
        active = self.active(round)
        changed = examples
        for part in self.data:
            if active:
                changed = poison_examples(part, changed, attacker, attackers, rng)
            else:
                changed = _drop(changed, part.held_out(changed))
        if changed is examples:
            return None
        return self._version(attacker, active), changed

    def at_model(self, round: int, parameters: Tensor) -> Attacker:
        if not self.active(round) or not any(isinstance(part, Following) for part in self.data):
            return self
        fitted = (part.at_model(parameters) if isinstance(part, Following) else part for part in self.data)
        return replace(self, data=tuple(fitted))

    def brief(
        self,
        trainer: LocalTrainer,
        user: int,
        examples: Examples,
        round: int,
        rng: np.random.Generator,
        moved: Tensor | None,
    ) -> LocalTrainer:
        if self.active(round):
            for part in self.model:
                if isinstance(part, Briefed):
                    trainer = part.brief(trainer, self._bad(user, examples, rng), moved)
        return trainer

    def _bad(self, user: int, examples: Examples, rng: np.random.Generator) -> Tensor:
        """Which of the examples that an attacker trains on (a bool each) are bad."""
        attacker, marked = sorted(self.users).index(user), none_of(examples)
        for part in self.data:
            examples, marked = poison_marked(part, examples, marked, attacker, len(self.users), rng)
        return marked

    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
        if self.active(round):
            for part in self.model:
                if isinstance(part, OwnWayToTrain):
                    trainer = part.trainer(trainer, round, bounds)
        return trainer

    def decisive_rounds(self, rounds: int) -> set[int]:
        """Where its own ways to train could fail; parts that train as they are told add nothing."""
        own = [decisive(part, rounds) for part in self.model if isinstance(part, OwnWayToTrain)]
        return {0}.union(*own)

    def tamper(self, user: int, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        if self.active(sight.round):
            for part in self.model:
                update = part.tamper(update, sight, rng)
        return update

    def _version(self, attacker: int, active: bool) -> str:
        """Names the data of one attacker, so that equal jobs are recognised and others are not."""
        what = repr((self.data, attacker, len(self.users), active))
        return hashlib.blake2b(what.encode(), digest_size=16).hexdigest()


def _drop(examples: Examples, mask: Tensor) -> Examples:
    """The examples outside the mask; one of them stays if they are all there is."""
    kept = torch.nonzero(~mask).flatten()
    if len(kept) == len(examples):
        return examples
    return examples.select(kept if len(kept) else torch.zeros(1, dtype=torch.int64))
