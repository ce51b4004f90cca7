from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from fedward.attacks import Attack, Conduct, NamedUsers, RandomUsers
from fedward.attacks.model_poisoning import Scale, SignFlip
from fedward.attacks.poisoning import LabelFlip, SinglePixel
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.types import Bounds, LocalTrainer, Sight
from fedward.testing import check_attack
from support import flat_inputs, tiny_pictures, tiny_sgd
from testing.caught import caught


@dataclass(frozen=True, kw_only=True)
class PoisonsInPlace(SinglePixel):
    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        flat_inputs(examples)[:, 0, 0, 0] = self.value
        return Examples(examples.x, torch.full_like(examples.y, self.target))


@dataclass(frozen=True, kw_only=True)
class ForgetsItsTarget(LabelFlip):
    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        return Examples(examples.x, (examples.y + 1) % 3)


@dataclass(frozen=True, kw_only=True)
class DrawsTriggers(SinglePixel):
    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        bad = super().poison(examples, attacker, attackers)
        return Examples(torch.rand_like(flat_inputs(bad)), bad.y)


@dataclass(frozen=True, kw_only=True)
class CutsPictures(SinglePixel):
    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        bad = super().poison(examples, attacker, attackers)
        return Examples(flat_inputs(bad)[..., 1:], bad.y)


@dataclass(frozen=True, kw_only=True)
class MarksNumbers(LabelFlip):
    def eligible(self, examples: Examples) -> Tensor:
        return super().eligible(examples).long()


@dataclass(frozen=True, kw_only=True)
class DoesNotCheckItsTarget(LabelFlip):
    def check(self, federation: Federation, attackers: int) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class ReadsOthers(Scale):
    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return update + 3 * torch.stack(list(sight.own.values())).sum(0)


@dataclass(frozen=True, kw_only=True)
class NeedsMoreThanItSays(Scale):
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=True)

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        assert sight.honest is not None, "no honest rows"
        return -sight.honest.mean(0)


@dataclass(frozen=True, kw_only=True)
class ThrowsAwayInSecret(Scale):
    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return torch.ones_like(update)


@dataclass(frozen=True, kw_only=True)
class SaysThatItThrowsAway(Scale):
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=False, discards_update=True)


@dataclass(frozen=True, kw_only=True)
class TrainsInSecret(Scale):
    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
        return tiny_sgd(epochs=9)


@dataclass(frozen=True, kw_only=True)
class SaysThatItTrainsApart(Scale):
    conduct: ClassVar[Conduct] = Conduct(needs_all_rows=False, trains_its_own_way=True)

    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
        return trainer


@dataclass(frozen=True, kw_only=True)
class SendsGarbage(Scale):
    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return update / 0


@dataclass(frozen=True, kw_only=True)
class SendsLess(Scale):
    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return update[1:]


@dataclass(frozen=True, kw_only=True)
class TossesCoins(SignFlip):
    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return update * float(np.random.default_rng().normal())


class SaysNothing:
    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        return -update


@dataclass(frozen=True)
class DeclaresNothing(SaysNothing):
    pass


@dataclass(frozen=True, kw_only=True)
class ChoosesStrangers(RandomUsers):
    def choose(self, federation: Federation, rng: np.random.Generator) -> frozenset[int]:
        return frozenset({federation.num_users})


@pytest.mark.parametrize(
    ("part", "fault"),
    [
        (PoisonsInPlace(), "poison changed its input in place"),
        (ForgetsItsTarget(target=0), "and target is 0"),
        (DrawsTriggers(), "changed the state of the global generator of torch"),
        (CutsPictures(), "Keep shape and type of the inputs"),
        (MarksNumbers(target=0), "Return one bool for each example"),
        (DoesNotCheckItsTarget(target=7), "target is 7 and there are 3 classes"),
        (LabelFlip(target=0, fraction=0.0), "no attacker sent anything else than it would have honestly"),
        (ReadsOthers(factor=1.0), "needs_all_rows is False, but rows of others changed"),
        (NeedsMoreThanItSays(factor=1.0), "it raised AssertionError: no honest rows"),
        (ThrowsAwayInSecret(factor=1.0), "discards_update is False, but it sends the same"),
        (SaysThatItThrowsAway(factor=3.0), "discards_update is True, but what it sends depends"),
        (TrainsInSecret(factor=3.0), "must be True exactly if it has a method trainer"),
        (SaysThatItTrainsApart(factor=3.0), "but trainer returns SGD"),
        (SendsGarbage(factor=3.0), "Send finite numbers"),
        (SendsLess(factor=3.0), "Return the same shape"),
        (TossesCoins(), "and then"),
        (DeclaresNothing(), "needs must be declared by DeclaresNothing"),
        (ChoosesStrangers(count=1), "Return a frozenset of users from 0 to 11"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_broken_attack_is_caught(part: Any, fault: str) -> None:
    assert fault in caught(check_attack, part)


@dataclass(frozen=True, kw_only=True)
class KeepsCount(Scale):
    """Sends more in each round than in the one before, whatever the round is."""

    sent: list[int]

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        self.sent.append(1)
        return update * len(self.sent)


def test_an_attack_that_remembers_is_caught_as_a_whole() -> None:
    attack = Attack(who=NamedUsers(users=(1, 4, 9)), model=(KeepsCount(factor=1.0, sent=[]),))
    message = caught(check_attack, attack)
    assert "a training under attack gave" in message
    assert message.startswith("Attack(who=NamedUsers")


def test_a_whole_attack_of_sound_parts_passes() -> None:
    attack = Attack(who=RandomUsers(count=3), data=(SinglePixel(),), model=(Scale(factor=9.0),))
    assert "touches the data and rows of its own users only" in check_attack(attack).passed


def test_too_few_users_to_attack_are_named() -> None:
    with pytest.raises(InvalidValue, match="at least 12 users, got 5"):
        check_attack(SinglePixel(), federation=tiny_pictures(num_users=5))


def test_what_is_no_attack_is_told_what_one_has() -> None:
    with pytest.raises(InvalidType, match="an attack must have poison"):
        check_attack(3)  # type: ignore[arg-type]
