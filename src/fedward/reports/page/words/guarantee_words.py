"""The guarantee about the released models, in words that a layman can repeat."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Literal, get_args

from fedward.privacy import Guarantee
from fedward.privacy.caveats import WEIGHTS
from fedward.reports.numbers import best_guess
from fedward.reports.templates import lines

Strength = Literal["strong", "fair", "weak", "hardly any"]

STRENGTHS: tuple[Strength, ...] = get_args(Strength)
# The best guess is right at most so often.
_ENDS = (0.6, 0.75, 0.9)


@dataclass(frozen=True, kw_only=True)
class Guess:
    """What a guarantee leaves to somebody who guesses from the models, and would be right half of the time
    without them: whom it is about, the question, how often the best guess is right at most, and what
    protection that is."""

    picked: str
    question: str
    best: float
    strength: Strength


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A guarantee in words: its shortest form, what it says, the exact line with everything that it is about,
    what it does not say, and what it leaves to guess; None where nothing is guaranteed."""

    heading: str
    sentences: tuple[str, ...]
    statement: str
    limits: tuple[str, ...]
    guess: Guess | None

    @property
    def private(self) -> bool:
        return self.guess is not None


def guess(guarantee: Guarantee) -> Guess | None:
    """What somebody can guess at best; None where nothing is guaranteed, or no proof says it."""
    if not (guarantee.private and guarantee.proven):
        return None
    best = best_guess(guarantee.epsilon, guarantee.delta)
    picked, question = lines("page/words/guess.txt", guarantee=guarantee)
    strength = STRENGTHS[bisect_left(_ENDS, best)]
    return Guess(picked=picked, question=question, best=best, strength=strength)


def promise(guarantee: Guarantee, *, seed: int, finished: bool = True) -> Promise:
    """The guarantee in words; every qualification of docs/privacy.md is kept."""
    found = guess(guarantee)
    about = {"guarantee": guarantee, "guess": found, "finished": finished, "weights": WEIGHTS}
    heading, *sentences = lines("page/words/promise.txt", **about)
    # What is no guarantee needs no limits.
    limits = lines("page/words/promise_limits.txt", guarantee=guarantee, seed=seed) if found else ()
    return Promise(
        heading=heading,
        sentences=tuple(sentences),
        statement=str(guarantee),
        limits=tuple(limits),
        guess=found,
    )
