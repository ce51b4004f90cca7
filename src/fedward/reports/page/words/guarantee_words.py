"""The guarantee about the released models, in words that a layman can repeat."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.privacy import Guarantee
from fedward.privacy.caveats import WEIGHTS
from fedward.reports.numbers import best_guess
from fedward.reports.templates import lines


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A guarantee in words: whether there is one, its shortest form, what it says, the exact line with
    everything that it is about, and what it does not say."""

    private: bool
    heading: str
    sentences: tuple[str, ...]
    statement: str
    limits: tuple[str, ...]


def promise(guarantee: Guarantee, *, seed: int, finished: bool = True) -> Promise:
    """The guarantee in words; every qualification of docs/privacy.md is kept."""
    best = best_guess(guarantee.epsilon, guarantee.delta)
    about = {"guarantee": guarantee, "best": best, "finished": finished, "weights": WEIGHTS}
    heading, *sentences = lines("page/words/promise.txt", **about)
    # What is no guarantee needs no limits.
    sound = guarantee.private and guarantee.proven
    limits = lines("page/words/promise_limits.txt", guarantee=guarantee, seed=seed) if sound else ()
    return Promise(
        private=sound,
        heading=heading,
        sentences=tuple(sentences),
        statement=str(guarantee),
        limits=tuple(limits),
    )
