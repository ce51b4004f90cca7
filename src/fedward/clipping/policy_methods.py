"""Methods that several clip policies have in common, each to be named in the body of a policy's class.

A policy either carries its bound from round to round (``init = start_at_initial``, ``bound = carry_bound``),
or goes by what is public or of the same round and carries nothing (``looks = never_look``,
``init = start_empty``, ``move = stay``).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fedward.core.types import Bounds, PolicyState


class HasInitial(Protocol):
    """A policy with a clip bound for the first round."""

    @property
    def initial(self) -> float: ...


def start_at_initial(self: HasInitial) -> PolicyState:
    """The bound of the first round is the whole state."""
    return (self.initial,)


def carry_bound(self: object, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds:
    """The bound that the last round left, for flat clipping."""
    return (policy[0],)


def never_look(self: object, round: int) -> tuple[float, ...]:
    """It looks at nothing private, so nothing is charged."""
    return ()


def start_empty(self: object) -> PolicyState:
    """There is nothing to carry from round to round."""
    return ()


def stay(
    self: object,
    policy: PolicyState,
    round: int,
    bounds: Bounds,
    norms: list[Bounds],
    rng: np.random.Generator,
) -> PolicyState:
    """The state after a round is that before it."""
    return policy
