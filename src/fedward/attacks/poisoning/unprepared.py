"""Poisonings that must see the data before they can say what examples become."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor

from fedward.attacks.attack_types import Poisoning
from fedward.core.examples import Examples
from fedward.core.federation import Federation


@runtime_checkable
class Unprepared(Protocol):
    """Bad data whose examples depend on the federation, its words for instance.

    It is a value like every part of an experiment file, so it holds no data: ``Attack.stage`` prepares it.
    """

    @property
    def fraction(self) -> float: ...

    @property
    def rate(self) -> float: ...

    def check(self, federation: Federation, attackers: int) -> None:
        """Raises in words if it cannot be carried out on this data by so many attackers."""

    def held_out(self, examples: Examples) -> Tensor:
        """As in ``Poisoning``."""

    def eligible(self, examples: Examples) -> Tensor:
        """As in ``Poisoning``."""

    def prepared(self, federation: Federation) -> Poisoning:
        """The poisoning of this federation's examples."""


@runtime_checkable
class StandsAlone(Protocol):
    """A trigger that is an input of its own, without any example to put it to."""

    def alone(self) -> Examples:
        """Triggers with their labels: success is measured on them too."""


def ready(poisoning: Poisoning | Unprepared, federation: Federation) -> Poisoning:
    """The poisoning of this federation's examples: most are that already."""
    return poisoning.prepared(federation) if isinstance(poisoning, Unprepared) else poisoning
