"""A certificate in words that a layman can repeat."""

from __future__ import annotations

from fedward.certificates.certificate import Attack, Certificate
from fedward.certificates.level import percentage
from fedward.certificates.trust import list_trusted
from fedward.report.numbers import many, percent_certified

_THREATS: dict[tuple[str, str], str] = {
    ("user", "inject"): "joined the training, whatever they send",
    ("user", "present"): "were among the users already, whatever they sent",
    ("user", "compromise"): "took the places of users, whatever they send",
    ("example", "inject"): "were added to users' data",
    ("example", "present"): "were in users' data already",
    ("example", "compromise"): "took the places of others",
}


def headline(attack: Attack) -> int:
    """The k that is spoken of first: the last at which half of the examples are right and certified.

    If there is none, the last with half of what is certified without attackers.
    """
    accuracy = attack.accuracy or (0.0,)
    wanted = 0.5 if accuracy[0] >= 0.5 else accuracy[0] / 2
    return max((k for k, share in enumerate(accuracy) if share >= wanted and share > 0), default=0)


def headline_in_words(certificate: Certificate) -> tuple[str, ...]:
    """The first threat, at the k that is spoken of first."""
    attack = certificate.attacks[0]
    return in_words(certificate, attack, headline(attack))


def in_words(certificate: Certificate, attack: Attack, k: int) -> tuple[str, ...]:
    """One threat, at one k."""
    accuracy, rule = attack.accuracy, certificate.setting.confidence
    if accuracy is None or k >= len(accuracy) or accuracy[k] == 0:
        return (
            "Nothing is certified: with this few trainings, or this much noise, not a single test example "
            "is proven to keep its right class, not even without attackers.",
        )
    unit, share = certificate.setting.ledger.unit, percent_certified(accuracy[k])
    attackers = many(k, "attacker" if unit == "user" else "poisoned example")
    still = "favours the right class, and would without them"
    if attack.threat != "present":
        still = "would still favour the right class"
    first = (
        f"If up to {attackers} {_THREATS[unit, attack.threat]}: for {share} of the test examples "
        f"this training {still}, on average over its own randomness."
    )
    if k == 0:
        first = f"For {share} of the test examples the right class is certified without attackers."
    sure = f"with a confidence of {percentage(rule.error)}\xa0%"
    if rule.simultaneous:
        return first, f"All of this together holds {sure}."
    return first, (
        f"Each of these examples is certified {sure} by itself: of a hundred such statements, about "
        f"{100 * rule.error:g} may be wrong."
    )


def rests_on_trust(certificate: Certificate) -> tuple[str, ...]:
    """What a certificate rests on that nobody can see from its file, a sentence each."""
    return tuple(f"{each.says[0].upper()}{each.says[1:]}." for each in list_trusted(certificate))
