"""A certificate in words that a layman can repeat."""

from __future__ import annotations

from fedward.certificates.certificate import Attack, Certificate
from fedward.certificates.level import percentage
from fedward.certificates.trust import on_trust
from fedward.report.numbers import many, percent_certified

_THREATS: dict[tuple[str, str], tuple[str, str]] = {
    ("user", "inject"): (
        "If up to {k} joined the training, whatever they send",
        "this training would still favour the right class",
    ),
    ("user", "present"): (
        "If up to {k} were among the users already, whatever they sent",
        "this training favours the right class, and would without them",
    ),
    ("user", "compromise"): (
        "If up to {k} took the places of users, whatever they send",
        "this training would still favour the right class",
    ),
    ("example", "inject"): (
        "If up to {k} were added to users' data",
        "this training would still favour the right class",
    ),
    ("example", "present"): (
        "If up to {k} were in users' data already",
        "this training favours the right class, and would without them",
    ),
    ("example", "compromise"): (
        "If up to {k} took the places of others",
        "this training would still favour the right class",
    ),
}
LIMITS = (
    "It is about the class that this training favours on average, over its own drawing of users and its "
    "own noise, from this initial model. One released model is one draw: for it there is a probability, "
    "stated below.",
    "It says that the prediction stays the same. Whether it is right is known only for examples whose true "
    "class is known; certified accuracy counts those that are both.",
    "It certifies every number of attackers up to k, and nothing about more. An example that is not "
    "certified is not known to be at risk: it is only not proven to be safe.",
    "The initial model is taken as it is: whoever had a hand in the weights that the training started from "
    "is not among the k.",
    "Somebody who changes the example itself, when the model is used, is another attacker: nothing is said "
    "about that.",
    "The sums of updates are divided by a declared number that does not move when somebody joins, and the "
    "server clips what it receives.",
    "Nobody may see noise before it is drawn. With seeded noise that means a seed that is secret and "
    "fresh: the trainings here are simulations.",
)

RECOMPUTED = (
    "Recomputed for this page: ε of releasing all trainings, from the ledger in the certificate. Bounds and "
    "k are shown as the certificate file has them: fedward certificate check computes them again from the "
    "stored scores. Nothing was trained again."
)


def headline(attack: Attack) -> int:
    """The k that is spoken of first: the last at which half of the examples are right and certified.

    If there is none, the last with half of what is certified without attackers.
    """
    accuracy = attack.accuracy or (0.0,)
    wanted = 0.5 if accuracy[0] >= 0.5 else accuracy[0] / 2
    return max((k for k, share in enumerate(accuracy) if share >= wanted and share > 0), default=0)


def in_words(certificate: Certificate, attack: Attack, k: int) -> tuple[str, ...]:
    """One threat, at one k."""
    accuracy = attack.accuracy
    rule = certificate.setting.confidence
    sure = f"{percentage(rule.error)}\xa0%"
    if accuracy is None or k >= len(accuracy) or accuracy[k] == 0:
        return (
            "Nothing is certified: with this few trainings, or this much noise, not a single test example "
            "is proven to keep its right class, not even without attackers.",
        )
    unit = certificate.setting.ledger.unit
    attackers = many(k, "attacker" if unit == "user" else "poisoned example")
    condition, outcome = _THREATS[unit, attack.threat]
    together = (
        f"All of this together holds with a confidence of {sure}."
        if rule.simultaneous
        else f"Each of these examples is certified with a confidence of {sure} by itself: of a hundred such "
        f"statements, about {100 * rule.error:g} may be wrong."
    )
    if k == 0:
        share = percent_certified(accuracy[0])
        first = f"For {share} of the test examples the right class is certified without attackers."
    else:
        first = (
            f"{condition.format(k=attackers)}: for {percent_certified(accuracy[k])} of the test examples "
            f"{outcome}, on average over its own randomness."
        )
    return (first, together)


def rests_on_trust(certificate: Certificate) -> tuple[str, ...]:
    """What a certificate rests on that nobody can see from its file, a sentence each."""
    return tuple(f"{each.says[0].upper()}{each.says[1:]}." for each in on_trust(certificate))
