"""A bound that falls by a polynomial over the training."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.base.validate import positive, whole
from fedward.clipping.policy_methods import never_look, start_empty, stay
from fedward.core.types import Bounds, PolicyState


@dataclass(frozen=True, kw_only=True)
class PolynomialDecay:
    """The bound falls from C_0 towards zero; nobody looks at anything, so it costs nothing.

        C_t = C_0 (1 - t/T)^power,    t = 0, 1, ..., T - 1

    Guarantee: that of a fixed bound, since noise is scaled by the bound of its own round and the schedule is
    public. Rounds beyond T keep the bound of the last.

    Args:
      initial: C_0: the clip bound of the first round.
      power: how it falls: 1 is a straight line, below 1 late, above 1 early.
      rounds: T: the number of rounds of the whole training.

    >>> policy = PolynomialDecay(initial=0.4, power=2.0, rounds=4)
    >>> [policy.bound((), t, None)[0] for t in (0, 1, 2, 3, 100)]
    [0.4, 0.225, 0.1, 0.025, 0.025]

    The study of clip sizes under LDP (docs/references.md).
    """

    initial: float
    power: float
    rounds: int

    reads_norms = False
    per_group = True
    unproven = ""
    replaced_moves = 2.0  # never asked: it does not look

    def __post_init__(self) -> None:
        positive("initial clip bound", self.initial)
        positive("power", self.power)
        whole("rounds", self.rounds)
        # A bound that rounds to zero would end the noise with it.
        positive("clip bound of the last round", self.bound((), self.rounds - 1, None)[0])

    looks = never_look
    init = start_empty
    move = stay

    def bound(self, policy: PolicyState, round: int, norms: list[Bounds] | None) -> Bounds:
        left = self.rounds - min(round, self.rounds - 1)
        return (self.initial * (left / self.rounds) ** self.power,)
