"""The guarantee about the released models, in words that a layman can repeat."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.privacy import Guarantee
from fedward.privacy.caveats import WEIGHTS
from fedward.report.numbers import at_most, at_most_figure, factor, guessed

# Who or what is hidden, and the two worlds that nobody can tell apart.
_WORLDS: dict[tuple[str, str], tuple[str, str, str]] = {
    ("user", "add/remove"): (
        "any one user, with all of its data",
        "if that user takes part as if it does not",
        "whether that user took part",
    ),
    ("user", "replace-one"): (
        "any one user, with all of its data",
        "if that user takes part as if another user stood in its place",
        "which of the two took part",
    ),
    ("user", "local"): (
        "any one user, with all of its data",
        "with the data that user has as with any other data in its place",
        "which of the two that user holds",
    ),
    ("user", "zero-out"): (
        "any one user, with all of its data",
        "if that user contributes as if its contribution is zero",
        "whether that user contributed",
    ),
    ("example", "zero-out"): (
        "any one example of any one user",
        "if that example contributes as if it counts as zero",
        "whether that example contributed",
    ),
    ("example", "add/remove"): (
        "any one example of any one user",
        "if that example is trained on as if it is not",
        "whether that example was used",
    ),
    ("example", "replace-one"): (
        "any one example of any one user",
        "if that example is trained on as if another stood in its place",
        "which of the two was used",
    ),
    ("example", "local"): (
        "any one example of any one user",
        "if that example is trained on as if another stood in its place",
        "which of the two was used",
    ),
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
    """A guarantee in words.

    Attributes:
      private: whether there is one.
      heading: the shortest form.
      sentences: what it says.
      statement: the exact line, with everything that it is about.
      limits: what it does not say.
    """

    private: bool
    heading: str
    sentences: tuple[str, ...]
    statement: str
    limits: tuple[str, ...]


def promise(guarantee: Guarantee, *, seed: int, finished: bool = True) -> Promise:
    """The guarantee in words; every qualification of docs/privacy.md is kept."""
    if not guarantee.private:
        return Promise(
            private=False,
            heading="No privacy guarantee",
            sentences=(
                "Nothing limits what the released models may give away about any one user. "
                f"The reason: {guarantee.reason}.",
            ),
            statement=str(guarantee),
            limits=(),
        )
    if not guarantee.proven:
        return _papers_figure(guarantee)
    epsilon, delta = guarantee.epsilon, guarantee.delta
    who, worlds, question = _WORLDS[guarantee.unit, guarantee.adjacency]
    best = guessed(epsilon, delta)
    reading = next(text for most, text in _READINGS if best <= most)
    so_far = "" if finished else " so far"
    return Promise(
        private=True,
        heading=(
            f"ε = {at_most_figure(epsilon)} at δ = {at_most_figure(delta)}{so_far}, for every single "
            f"{guarantee.unit}"
        ),
        sentences=(
            f"Take {who}, and anything at all that somebody may look for in the released models. It turns "
            f"up at most {factor(epsilon)} times as often (plus {at_most_figure(100 * delta)}\xa0% of the "
            f"time) {worlds}; and the other way round. The first number is e^ε, the second δ.",
            f"So somebody who guesses from the models {question}, where a coin would be right half of the "
            f"time, is right at most {at_most(best)} of the time. {reading}",
            *_started_from(guarantee.caveat),
        ),
        statement=str(guarantee),
        limits=tuple(_limits(guarantee, seed)),
    )


def _papers_figure(guarantee: Guarantee) -> Promise:
    """No odds for a number that nobody proves."""
    return Promise(
        private=False,
        heading=f"Not a guarantee: the papers' figure is ε = {at_most_figure(guarantee.epsilon)}",
        sentences=(
            "The papers account for cohorts of fixed size as if they were Poisson samples, and for a user "
            "that is replaced as for one that leaves. That figure is shown to be compared with theirs. It "
            "does not bound what the released models may give away; the true ε may be twice as "
            'large. For a guarantee set accountant = "rdp", or sample by Poisson.',
        ),
        statement=str(guarantee),
        limits=(),
    )


def _started_from(caveat: str) -> list[str]:
    """Weights that may give something away are said where the promise is, not only among its limits."""
    place = caveat.find(WEIGHTS)
    return [] if place < 0 else [f"This is about what the training itself adds: {caveat[place:]}."]


def _limits(guarantee: Guarantee, seed: int) -> list[str]:
    limits = []
    if guarantee.noise_source == "seeded":
        limits.append(
            f"Research only: the noise was drawn from the seed {seed}, which is in the run's files and on "
            "this page. "
            'Whoever has it can subtract the noise. For production, noise_source is "system".'
        )
    if guarantee.caveats:
        limits.append(f"{guarantee.caveats[0].upper()}{guarantee.caveats[1:]}.")
    limits += [
        "It covers the released models, and what is computed from them alone: accuracy, for instance, on "
        "test examples that belong to nobody. It covers nothing else. Cohorts, norms of updates and "
        "rejected updates are telemetry of a simulation, under no ε; this page shows some of it.",
        "Choosing the best of several runs is not covered, and several runs on the same users spend more "
        "together than each of them alone. Seeded runs that share a seed share their noise: release one of "
        "them at most.",
    ]
    if guarantee.unit == "example":
        limits.append(
            "It hides single examples, and counts on nobody learning which of them were in which batch. "
            "That a user takes part, and what all examples of one user have in common, it does not hide."
        )
    if guarantee.adjacency == "local":
        limits.append("That a user takes part, and when, is not hidden.")
    if guarantee.terms.looks:
        limits.append(
            "Clip bounds followed the norms of users' updates, and this includes what they show of them. The "
            "server itself saw those norms: it must be trusted with them."
        )
    if guarantee.terms.noise_of == "cohort":
        limits.append(
            "It holds only if all users of a cohort add their noise, and nobody sees anything but their mean."
        )
    elif guarantee.sampled:
        limits.append("It counts on nobody learning who was drawn in which round.")
    limits.append(_divisor(guarantee))
    limits.append(
        "The noise is a floating-point Gaussian, not hardened against attacks on floating-point arithmetic."
    )
    return limits


def _divisor(guarantee: Guarantee) -> str:
    """What is taken to be public of the number of users."""
    if guarantee.adjacency == "zero-out" and guarantee.unit == "user":
        return (
            "The number of users is public: means are divided by, and noise is scaled with, a number that "
            "follows from it. So it does not hide whether a user is counted, only what it contributes. To "
            "hide both, declare users in [privacy]."
        )
    if guarantee.terms.declared:
        return (
            "Means are divided by, and noise is scaled with, a number that was declared: it does not move "
            "when a user joins or leaves."
        )
    return "The number of users, from which means are scaled, is taken to be public."
