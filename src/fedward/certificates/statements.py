"""The sentences of a certificate, all of them derived from its numbers."""

from __future__ import annotations

from fedward.certificates.certificate import Certificate
from fedward.certificates.confidence import ANY_TIME, Confidence
from fedward.certificates.level import level
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.others.other_words import other_statements
from fedward.privacy.ledger import Ledger
from fedward.privacy.spending import is_allocated, mechanisms

_THREATS: dict[str, str] = {
    "inject": "Inject: k malicious {unit}s are added to this federation.",
    "present": "Present: k of the {unit}s trained on may be malicious; the class is the same without them.",
    "compromise": "Compromise: k {unit}s are replaced by malicious ones.",
}
_ATTENDANCE: dict[str, str] = {
    "drawn": "It assumes that the server draws every user, attackers too, with the stated probability",
    "chosen": "It assumes that everybody takes part in every round",
    "every-round": "It counts attackers as present in every round, so they may choose theirs; it assumes "
    "that the server draws all others with the stated probability",
}
_SCHEMA = (
    "It assumes that the server keeps all users, attackers too, to the stated schema, within which attackers "
    "may come when they like"
)
_ALLOTTED = (
    "It counts attackers as present once in every epoch, in a round of their choice; it assumes that the "
    "server lets nobody in twice and draws all others as stated"
)
_BEHAVIOUR: dict[str, str] = {
    "anything": "Attackers may send anything; the server clips it.",
    "data": "Attackers only poison data. One that skips its local clipping or noise voids this certificate.",
}


def _attendance(attendance: str, ledger: Ledger) -> str:
    if ledger.terms.participation is not None and attendance != "every-round":
        return _SCHEMA
    if is_allocated(mechanisms(ledger.spending)):
        return _ALLOTTED
    return _ATTENDANCE[attendance]


def _threat(threat: str, ledger: Ledger) -> str:
    words = _THREATS[threat].format(unit=ledger.unit)
    if threat == "present" and ledger.adjacency == "zero-out":
        return words.replace("without them", "where their contributions are zero")
    return words


def _divisor(ledger: Ledger) -> list[str]:
    """What no attack may move; nothing where no sum is divided, or an older file does not say."""
    terms = ledger.terms
    if terms.divisor is None:
        return []
    why = (
        "was declared and does not move when an attacker joins"
        if terms.declared
        else "follows the number of users, which no attack here changes"
    )
    return [f"Sums over a cohort are divided by m̄ = {terms.divisor:g}, which {why}."]


def _public(ledger: Ledger) -> list[str]:
    """What the training rests on that was public before; nothing where there is no such thing."""
    public = ledger.terms.public
    if public is None:
        return []
    who = "Users train on" if public.features else "The server's step rests on"
    return [
        f"{who} {public}. Whoever poisoned public data has changed what this certificate is about, "
        "and is not among its k."
    ]


def statements(certificate: Certificate) -> list[str]:
    """A sentence or two for everything that somebody who signs it has to know."""
    setting, score = certificate.setting, certificate.score
    if isinstance(setting, OtherSetting):
        return other_statements(
            setting,
            score=score,
            classes=certificate.classes,
            examples=certificate.examples,
            draw=certificate.draw,
            releasing_all=certificate.releasing_all,
        )
    ledger, rule = setting.ledger, setting.confidence
    examples = "all test examples together" if rule.simultaneous else "each test example"
    each = rule.each(certificate.classes, certificate.examples)
    twice = "" if score == "vote" else " (twice the expected confidence, minus one)"
    return [
        f"This certificate is about the expected {score} of this mechanism with this initial model and these "
        "local seeds, over sampling and noise.",
        f"For {examples}, with probability at least {level(rule.error)} over the replicas: under every "
        f"attack by at most k {ledger.unit}s the class with the largest expected {score} is the one stated "
        "as top.",
        *(_threat(threat, ledger) for threat in setting.threats),
        "For one released model, 'predicts' is a lower bound on the probability that it predicts this class"
        f"{twice}.",
        f"{_looks(rule, certificate.draw)} Bounds: {rule.method}, each with error {each:.3g}.",
        f"{_attendance(setting.attendance, ledger)}, and that nobody sees the noise of the current or a "
        "later round. "
        f"Sampling: {ledger.sampling}.",
        *_divisor(ledger),
        *_public(ledger),
        _BEHAVIOUR[setting.behaviour],
        f"It is computed from {rule.replicas:,} trainings on the same users and is not a private release. "
        f"Releasing all of them, or this certificate: {certificate.releasing_all}.",
    ]


def _looks(rule: Confidence, draw: str) -> str:
    """At how many replicas somebody looked, and what keeps that from being chosen afterwards."""
    drawn = (
        f" They are drawn for what is claimed here (draw {draw}): other claims draw others." if draw else ""
    )
    if len(rule.looks) > 1:
        looks = ", ".join(f"{look:,}" for look in rule.looks[:-1])
        return (
            f"Replicas were added after looks at {looks}; the bounds hold at all times at once. "
            f"Now there are {rule.replicas:,}.{drawn}"
        )
    # Without a draw: as certificates of older versions say it, whose words are compared.
    if draw and rule.method in ANY_TIME:
        return f"The bounds hold at every number of replicas at once; now there are {rule.replicas:,}.{drawn}"
    return f"The number of replicas, {rule.replicas:,}, was fixed beforehand.{drawn}"
