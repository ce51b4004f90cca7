"""The Protocols of the parts that an attack is made of."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from torch import Tensor

from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.types import Bounds, Knowledge, LocalTrainer, Sight


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


class ModelPoisoning(Protocol):
    """A bad update: how an attacker trains, and what it sends instead of what it trained.

    It says of itself all that is asked here; ``Attack`` refuses one that leaves something out, since nobody
    may take silence for a no. An attack that does none of the last three inherits from
    ``ModelPoisoningDefaults``.
    """

    @property
    def needs(self) -> Knowledge:
        """The least that an attacker must know to carry it out."""

    @property
    def needs_all_rows(self) -> bool:
        """Whether it reads other rows than the one that it replaces."""

    @property
    def discards_update(self) -> bool:
        """Whether what is sent does not depend on what was trained: bad data has no effect then, nor has a
        poisoning of updates before it."""

    @property
    def trains_its_own_way(self) -> bool:
        """Whether ``trainer`` gives another trainer than it was given; of several only one can."""

    @property
    def skips_local_privacy(self) -> bool:
        """Whether its users leave out the clipping and the noise that they owe to themselves."""

    def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
        """What an attacker trains with, instead of the round's ``trainer``."""

    def tamper(self, update: Tensor, sight: Sight, rng: np.random.Generator) -> Tensor:
        """What is sent instead of ``update``, which may be changed in place."""


class ModelPoisoningDefaults:
    """What a poisoning of updates is unless it says otherwise: a base for attacks of one's own.

    The update that is sent is made from the one that was trained, as everybody trains.
    """

    discards_update: ClassVar[bool] = False
    trains_its_own_way: ClassVar[bool] = False
    skips_local_privacy: ClassVar[bool] = False


class Who(Protocol):
    """Which users attack."""

    @property
    def per_cohort(self) -> int | None:
        """How many of them are in every cohort; None if they are sampled like everybody else."""

    def choose(self, federation: Federation, rng: np.random.Generator) -> frozenset[int]: ...
