"""The guarantee about the released models, in words that a layman can repeat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fedward.privacy import Guarantee
from fedward.privacy.caveats import WEIGHTS
from fedward.report.numbers import at_most, at_most_figure, factor, guessed

# Who or what is hidden.
_WHO = {"user": "any one user, with all of its data", "example": "any one example of any one user"}
_REPLACED = (
    "if that example is trained on as if another stood in its place",
    "which of the two was used",
)
# The two worlds that nobody can tell apart, and what somebody guesses who tries.
_WORLDS: dict[tuple[str, str], tuple[str, str]] = {
    ("user", "add/remove"): ("if that user takes part as if it does not", "whether that user took part"),
    ("user", "replace-one"): (
        "if that user takes part as if another user stood in its place",
        "which of the two took part",
    ),
    ("user", "local"): (
        "with the data that user has as with any other data in its place",
        "which of the two that user holds",
    ),
    ("user", "zero-out"): (
        "if that user contributes as if its contribution is zero",
        "whether that user contributed",
    ),
    ("example", "zero-out"): (
        "if that example contributes as if it counts as zero",
        "whether that example contributed",
    ),
    ("example", "add/remove"): (
        "if that example is trained on as if it is not",
        "whether that example was used",
    ),
    ("example", "replace-one"): _REPLACED,
    ("example", "local"): _REPLACED,
}
_READINGS = (
    (0.6, "That is little better than a coin: strong protection."),
    (0.75, "Better than a coin, and far from sure: fair protection."),
    (0.9, "In the worst case that is weak protection."),
    (
        1.0,
        "In the worst case that is hardly any protection: the proof lets an attacker be nearly sure. What "
        "attackers really achieve may be less, but nothing here proves it.",
    ),
)


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
    statement = str(guarantee)
    if not guarantee.private:
        sentence = (
            "Nothing limits what the released models may give away about any one user. "
            f"The reason: {guarantee.reason}."
        )
        return Promise(heading="No privacy guarantee", sentences=(sentence,), statement=statement)
    epsilon, delta = at_most_figure(guarantee.epsilon), guarantee.delta
    if not guarantee.proven:
        # No odds for a number that nobody proves.
        sentence = (
            "The papers account for cohorts of fixed size as if they were Poisson samples, and for a user "
            "that is replaced as for one that leaves. That figure is shown to be compared with theirs. It "
            "does not bound what the released models may give away; the true ε may be twice as "
            'large. For a guarantee set accountant = "rdp", or sample by Poisson.'
        )
        heading = f"Not a guarantee: the papers' figure is ε = {epsilon}"
        return Promise(heading=heading, sentences=(sentence,), statement=statement)
    worlds, question = _WORLDS[guarantee.unit, guarantee.adjacency]
    best = guessed(guarantee.epsilon, delta)
    reading = next(text for most, text in _READINGS if best <= most)
    about = f"ε = {epsilon} at δ = {at_most_figure(delta)}{'' if finished else ' so far'}"
    sentences = [
        f"Take {_WHO[guarantee.unit]}, and anything at all that somebody may look for in the released "
        f"models. It turns up at most {factor(guarantee.epsilon)} times as often (plus {at_most_figure(100 * delta)}"
        f"\xa0% of the time) {worlds}; and the other way round. The first number is e^ε, the second δ.",
        f"So somebody who guesses from the models {question}, where a coin would be right half of the "
        f"time, is right at most {at_most(best)} of the time. {reading}",
    ]
    # Weights that may give something away are said where the promise is, not only among its limits.
    if (place := guarantee.caveat.find(WEIGHTS)) >= 0:
        sentences.append(f"This is about what the training itself adds: {guarantee.caveat[place:]}.")
    return Promise(
        private=True,
        heading=f"{about}, for every single {guarantee.unit}",
        sentences=tuple(sentences),
        statement=statement,
        limits=tuple(_limits(guarantee, seed)),
    )


def _limits(guarantee: Guarantee, seed: int) -> Iterator[str]:
    if guarantee.noise_source == "seeded":
        yield (
            f"Research only: the noise was drawn from the seed {seed}, which is in the run's files and on "
            'this page. Whoever has it can subtract the noise. For production, noise_source is "system".'
        )
    if guarantee.caveats:
        yield f"{guarantee.caveats[0].upper()}{guarantee.caveats[1:]}."
    yield (
        "It covers the released models, and what is computed from them alone: accuracy, for instance, on "
        "test examples that belong to nobody. It covers nothing else. Cohorts, norms of updates and "
        "rejected updates are telemetry of a simulation, under no ε; this page shows some of it."
    )
    yield (
        "Choosing the best of several runs is not covered, and several runs on the same users spend more "
        "together than each of them alone. Seeded runs that share a seed share their noise: release one of "
        "them at most."
    )
    if guarantee.unit == "example":
        yield (
            "It hides single examples, and counts on nobody learning which of them were in which batch. "
            "That a user takes part, and what all examples of one user have in common, it does not hide."
        )
    if guarantee.adjacency == "local":
        yield "That a user takes part, and when, is not hidden."
    if guarantee.terms.looks:
        yield (
            "Clip bounds followed the norms of users' updates, and this includes what they show of them. The "
            "server itself saw those norms: it must be trusted with them."
        )
    if guarantee.terms.noise_of == "cohort":
        yield (
            "It holds only if all users of a cohort add their noise, and nobody sees anything but their mean."
        )
    elif guarantee.sampled:
        yield "It counts on nobody learning who was drawn in which round."
    if guarantee.adjacency == "zero-out" and guarantee.unit == "user":
        yield (
            "The number of users is public: means are divided by, and noise is scaled with, a number that "
            "follows from it. So it does not hide whether a user is counted, only what it contributes. To "
            "hide both, declare users in [privacy]."
        )
    elif guarantee.terms.declared:
        yield (
            "Means are divided by, and noise is scaled with, a number that was declared: it does not move "
            "when a user joins or leaves."
        )
    else:
        yield "The number of users, from which means are scaled, is taken to be public."
    yield "The noise is a floating-point Gaussian, not hardened against attacks on floating-point arithmetic."
