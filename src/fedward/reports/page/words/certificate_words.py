"""A certificate in words that a layman can repeat."""

from __future__ import annotations

from fedward.certificates.certificate import Attack, Certificate
from fedward.certificates.trust import list_trusted
from fedward.reports.templates import lines


def headline(attack: Attack) -> int:
    """The k that is spoken of first: the last at which half of the examples are right and certified.

    If there is none, the last with half of what is certified without attackers.
    """
    accuracy = attack.accuracy or (0.0,)
    wanted = 0.5 if accuracy[0] >= 0.5 else accuracy[0] / 2
    return max((k for k, share in enumerate(accuracy) if share >= wanted and share > 0), default=0)


def in_words(certificate: Certificate, attack: Attack, k: int) -> list[str]:
    """One threat, at one k."""
    accuracy = attack.accuracy or ()
    share = accuracy[k] if k < len(accuracy) else 0.0
    about = {"certificate": certificate, "threat": attack.threat, "k": k, "share": share}
    return lines("page/words/certificate_words.txt", **about)


def rests_on_trust(certificate: Certificate) -> tuple[str, ...]:
    """What a certificate rests on that nobody can see from its file, a sentence each."""
    return tuple(f"{each.says[0].upper()}{each.says[1:]}." for each in list_trusted(certificate))
