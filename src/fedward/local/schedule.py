"""Learning rates that fall by a factor a round, and the round in which nothing is left of one."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import Field, replace
from typing import Any, ClassVar, Protocol, TypeVar


class Decaying(Protocol):
    """A local trainer, as a frozen dataclass, whose learning rate is η d^t in round t."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def learning_rate(self) -> float: ...

    @property
    def learning_rate_decay(self) -> float: ...


T = TypeVar("T", bound=Decaying)


def decayed(trainer: T, round: int) -> T:
    """The trainer with the learning rate of one round, η_t = η d^t, which does not fall any more.

    >>> from fedward.local.full_gradient import FullGradient
    >>> decayed(FullGradient(learning_rate=0.4, learning_rate_decay=0.5), 2).learning_rate
    0.1
    """
    if trainer.learning_rate_decay == 1:
        return trainer
    return replace(trainer, learning_rate=_learning_rate(trainer, round), learning_rate_decay=1.0)


def decisive_rounds(trainer: Decaying, rounds: int) -> tuple[int, ...]:
    """The first and the last of so many rounds, and the first in which η d^t has come to zero, if it does.

    The rate never rises, so these stand for all between.

    >>> from fedward.local.full_gradient import FullGradient
    >>> [decisive_rounds(FullGradient(learning_rate_decay=decay), 300) for decay in (1.0, 0.01)]
    [(0, 299), (0, 162, 299)]
    """
    spent = bisect_left(range(rounds), True, key=lambda t: _learning_rate(trainer, t) == 0)
    return tuple(sorted({0, min(spent, rounds - 1), rounds - 1}))


def _learning_rate(trainer: Decaying, round: int) -> float:
    return trainer.learning_rate * trainer.learning_rate_decay**round
