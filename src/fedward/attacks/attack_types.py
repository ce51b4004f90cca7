"""The Protocols of the parts that an attack is made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from torch import Tensor

from fedward.base.validate import InvalidType
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.types import Aggregator, Bounds, Knowledge, LocalTrainer, Sight


class Poisoning(Protocol):
    """Bad data: which examples it can be made from, and what they become.

    ``fraction`` is the papers' α, the share of an attacker's eligible examples that are poisoned; ``rate``
    is the poisoning rate of Miao et al., the share of the poisoned examples that take part in training (the
    others are left out). ``target`` is the label that the attack wants to see.
    """

    @property
    def fraction(self) -> float: ...

    @property
    def rate(self) -> float: ...

    @property
    def target(self) -> int: ...

    def check(self, federation: Federation, attackers: int) -> None:
        """Raises in words if it cannot be carried out on this data by so many attackers."""

    def held_out(self, examples: Examples) -> Tensor:
        """Which examples (a bool each) no honest user may own: all False unless the backdoor is natural."""

    def eligible(self, examples: Examples) -> Tensor:
        """Which examples (a bool each) of an attacker it can be made from."""

    def poison(self, examples: Examples, attacker: int = 0, attackers: int = 1) -> Examples:
        """All of these examples, poisoned: a copy with trigger and label.

        ``attacker`` is the place of the user among the ``attackers``. The defaults give the whole attack:
        what a test example looks like when its success is measured.
        """


@dataclass(frozen=True, kw_only=True)
class Conduct:
    """What a poisoning of updates does, as it declares of itself.

    Args:
      needs_all_rows: whether it reads other rows than the one that it replaces.
      discards_update: whether what is sent does not depend on what was trained: bad data has no effect then,
        nor has a poisoning of updates before it.
      trains_its_own_way: whether its users train with another trainer than they were given, which its method
        ``trainer`` names (``OwnWayToTrain``); of several poisonings only one can.
      skips_local_privacy: whether its users leave out the clipping and the noise that they owe to themselves.
      adapts: whether it knows the server's rule and sends what that rule suffers most from; its method
        ``against`` is given the aggregator then (``Adaptive``).
      compares_models: whether it looks at the model of the round before (``Sight.previous``).

    >>> Conduct(needs_all_rows=False, discards_update="no")
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidType: discards_update must be True or False, got 'no'
    """

    needs_all_rows: bool
    discards_update: bool = False
    trains_its_own_way: bool = False
    skips_local_privacy: bool = False
    adapts: bool = False
    compares_models: bool = False

    def __post_init__(self) -> None:
        for name, answer in asdict(self).items():
            if not isinstance(answer, bool):
                raise InvalidType(f"{name} must be True or False, got {answer!r}")


class ModelPoisoning(Protocol):
    """A bad update: what an attacker sends instead of what it trained.

    It says of itself what is asked here; ``Attack`` refuses one that leaves something out, since nobody may
    take silence for a no.
    """

    @property
    def needs(self) -> Knowledge:
        """The least that an attacker must know to carry it out."""

    @property
    def conduct(self) -> Conduct:
        """What it does."""

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        """What is sent instead of ``update``, which may be changed in place."""


@runtime_checkable
class OwnWayToTrain(Protocol):
    """A poisoning of updates whose users do not train as they are told."""

    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
        """What an attacker trains with, instead of the round's ``trainer``."""


@runtime_checkable
class Adaptive(Protocol):
    """A poisoning of updates by attackers that know the defence and its parameters."""

    def against(self, aggregator: Aggregator) -> ModelPoisoning:
        """The same, fitted to the aggregator of the algorithm that is attacked."""


@runtime_checkable
class Briefed(Protocol):
    """A poisoning of updates whose own way to train treats bad examples and the others apart."""

    def brief(self, trainer: LocalTrainer, bad: Tensor, moved: Tensor | None) -> LocalTrainer:
        """The trainer of one user, whose ``bad`` examples (a bool each) are known; ``moved`` is how the model
        has moved since the round before, where ``conduct.compares_models`` asks for it."""


class Who(Protocol):
    """Which users attack."""

    @property
    def per_cohort(self) -> int | None:
        """How many of them are in every cohort; None if they are sampled like everybody else."""

    def choose(self, federation: Federation, rng: np.random.Generator) -> frozenset[int]: ...
