"""Learning rates that fall by a factor a round, and the round in which nothing is left of one."""

from __future__ import annotations

from bisect import bisect_left


def decay_learning_rate(learning_rate: float, decay: float, round: int) -> float:
    """η_t = η d^t.

    >>> decay_learning_rate(0.4, 0.5, 2)
    0.1
    """
    return learning_rate * decay**round


def decisive_rounds(learning_rate: float, decay: float, rounds: int) -> tuple[int, ...]:
    """The first and the last of so many rounds, and the first in which η d^t has come to zero, if it does.

    The rate never rises, so these stand for all between.

    >>> decisive_rounds(0.1, 1.0, 300), decisive_rounds(0.1, 0.01, 300)
    ((0, 299), (0, 162, 299))
    """
    spent = bisect_left(range(rounds), True, key=lambda t: decay_learning_rate(learning_rate, decay, t) == 0)
    return tuple(sorted({0, min(spent, rounds - 1), rounds - 1}))
