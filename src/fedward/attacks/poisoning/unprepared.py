"""Poisonings that must see the data before they can say what examples become."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor, nn

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


@runtime_checkable
class ShownOnOthers(Protocol):
    """A poisoning whose success is measured on other examples than it is made from."""

    def shown(self, examples: Examples) -> Tensor:
        """Which examples (a bool each) can carry the trigger when its success is measured."""


@runtime_checkable
class Unfitted(Protocol):
    """Bad data whose trigger is fitted to the model that is attacked, round by round."""

    def fitted_by(self, model: nn.Module, examples: Examples) -> Poisoning:
        """The poisoning, ``Following``, by attackers who own these examples and are sent such models."""


@runtime_checkable
class Following(Protocol):
    """A poisoning that knows how to fit its trigger; until it has, it plants the one that a search begins
    with."""

    def at_model(self, parameters: Tensor) -> Poisoning:
        """The poisoning with the trigger for a model; the same model gives the same trigger."""


def ready(poisoning: Poisoning | Unprepared, federation: Federation) -> Poisoning:
    """The poisoning of this federation's examples: most are that already."""
    return poisoning.prepared(federation) if isinstance(poisoning, Unprepared) else poisoning
