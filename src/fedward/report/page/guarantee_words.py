"""The guarantee about the released models, in words that a layman can repeat."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from fedward.privacy import Guarantee
from fedward.privacy.caveats import WEIGHTS
from fedward.report.numbers import at_most, at_most_figure, best_guess, factor
from fedward.report.page.templates import read

_WORDS = tomllib.loads(read("guarantee_words.toml"))


@dataclass(frozen=True, kw_only=True)
class Promise:
    """A guarantee in words: whether there is one, its shortest form, what it says, the exact line with
    everything that it is about, and what it does not say."""

    private: bool = False
    heading: str
    sentences: tuple[str, ...]
    statement: str
    limits: tuple[str, ...] = ()


def promise(guarantee: Guarantee, *, seed: int, finished: bool = True) -> Promise:
    """The guarantee in words; every qualification of docs/privacy.md is kept."""
    say, statement = _WORDS["sentences"], str(guarantee)
    if not guarantee.private:
        reason = say["none"].format(reason=guarantee.reason)
        return Promise(heading="No privacy guarantee", sentences=(reason,), statement=statement)
    epsilon, delta = at_most_figure(guarantee.epsilon), at_most_figure(guarantee.delta)
    if not guarantee.proven:
        # No odds for a number that nobody proves.
        heading = f"Not a guarantee: the papers' figure is ε = {epsilon}"
        return Promise(heading=heading, sentences=(say["papers"],), statement=statement)
    worlds, question = _WORDS[guarantee.unit][guarantee.adjacency]
    best = best_guess(guarantee.epsilon, guarantee.delta)
    reading = next(text for most, text in _WORDS["readings"].items() if best <= float(most))
    sentences = [
        say["odds"].format(
            who=_WORDS["who"][guarantee.unit],
            factor=factor(guarantee.epsilon),
            percent=at_most_figure(100 * guarantee.delta),
            worlds=worlds,
        ),
        say["guess"].format(question=question, best=at_most(best), reading=reading),
    ]
    # Weights that may give something away are said where the promise is, not only among its limits.
    if (place := guarantee.caveat.find(WEIGHTS)) >= 0:
        sentences.append(say["weights"].format(caveat=guarantee.caveat[place:]))
    so_far = "" if finished else " so far"
    return Promise(
        private=True,
        heading=f"ε = {epsilon} at δ = {delta}{so_far}, for every single {guarantee.unit}",
        sentences=tuple(sentences),
        statement=statement,
        limits=_limits(guarantee, seed),
    )


def _limits(guarantee: Guarantee, seed: int) -> tuple[str, ...]:
    terms, caveats = guarantee.terms, guarantee.caveats
    counted = guarantee.adjacency == "zero-out" and guarantee.unit == "user"
    applies = {
        "seeded": guarantee.noise_source == "seeded",
        "caveats": bool(caveats),
        "example": guarantee.unit == "example",
        "local": guarantee.adjacency == "local",
        "looks": terms.looks,
        "cohort": terms.noise_of == "cohort",
        "sampled": guarantee.sampled and terms.noise_of != "cohort",
        "counted": counted,
        "declared": terms.declared and not counted,
        "scaled": not terms.declared and not counted,
    }
    return tuple(
        text.format(seed=seed, caveats=f"{caveats[:1].upper()}{caveats[1:]}")
        for name, text in _WORDS["limits"].items()
        if applies.get(name, True)
    )
