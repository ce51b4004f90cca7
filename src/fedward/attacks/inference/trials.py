"""The trainings that membership inference needs: some to be attacked, and the attacker's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fedward.attacks.inference.auc import Bools
from fedward.attacks.inference.halves import Halves
from fedward.attacks.inference.membership import LEAST_SHADOWS
from fedward.attacks.inference.streams import seed_of
from fedward.base.validate import InvalidValue, one_of, whole
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.privacy.guarantee import UNITS, Unit


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One training on a random half: attacked (``target``), or the attacker's own (``shadow``)."""

    kind: Literal["target", "shadow"]
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"

    def seed(self, seed: int) -> int:
        """Of its sampling, noise and shuffling: no two trainings share one."""
        return seed_of(seed, "target training" if self.kind == "target" else "shadow training", self.number)

    def inside(self, halves: Halves, federation: Federation) -> Bools:
        """Which records it sees."""
        draw = halves.target if self.kind == "target" else halves.shadow
        return draw(federation, self.number)


@dataclass(frozen=True, kw_only=True)
class MembershipInference:
    """Attacks trainings on random halves of a federation, of which it is known who was in.

    All trainings start from the same initial model, which participants know, and differ in who is in, in
    sampling, in noise and in local shuffling.

    Args:
      unit: what is asked about: one ``example``, or a ``user`` with all of its examples.
      targets: how many trainings are attacked; their scores are put together.
      shadows: how many the attacker trains; even, as they come in pairs.

    >>> MembershipInference(shadows=5)
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: shadows must be even, as they come in pairs, got 5
    """

    unit: Unit = "example"
    targets: int = 1
    shadows: int = 16

    def __post_init__(self) -> None:
        one_of("unit", self.unit, UNITS)
        whole("targets", self.targets)
        if whole("shadows", self.shadows, at_least=LEAST_SHADOWS) % 2:
            raise InvalidValue(f"shadows must be even, as they come in pairs, got {self.shadows}")

    def halves(self, algorithm: Algorithm, seed: int) -> Halves:
        """How records are drawn: where users replace each other, the number of users stays the same."""
        exact = self.unit == "user" and algorithm.sampler.adjacency == "replace-one"
        return Halves(unit=self.unit, seed=seed, exact=exact)

    @property
    def target_trials(self) -> tuple[Trial, ...]:
        return tuple(Trial(kind="target", number=number) for number in range(self.targets))

    @property
    def shadow_trials(self) -> tuple[Trial, ...]:
        return tuple(Trial(kind="shadow", number=number) for number in range(self.shadows))

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trainings, in the order in which they are run."""
        return (*self.target_trials, *self.shadow_trials)
