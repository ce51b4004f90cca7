"""The words beside the headline of a certificate: the ceiling that M sets, and the cost of releasing it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeVar

from fedward.certificates.ceiling import Ceiling
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.rounding import delta_text, epsilon_text

V = TypeVar("V")


def ceiling_in_words(found: Sequence[Ceiling]) -> str:
    """What M trainings can certify at most, and what more of them would allow.

    >>> one = Ceiling(threat="inject", replicas=100, k=3, most=100000, more=(600, 7))
    >>> ceiling_in_words([one])
    'With M = 100 trainings nothing above k = 3 (inject) can be certified, however good the model \
is; M = 600 allows k = 7.'
    >>> ceiling_in_words([Ceiling(threat="inject", replicas=3, k=-1, most=200, more=(14, 1))])
    'With M = 3 trainings nothing at all can be certified, however good the model is; M = 14 allows k = 1.'
    """
    if not found:
        return ""
    replicas = found[0].replicas
    begin = f"With M = {replicas:,} training{'' if replicas == 1 else 's'}"
    if all(each.k < 0 for each in found):
        limit = "nothing at all can be certified, however good the model is"
    elif all(each.k >= each.most for each in found):
        return f"{begin} M sets no limit to k here."
    else:
        limit = f"nothing above {_limits(found)} can be certified, however good the model is"
    return f"{begin} {limit}; {_more(found)}."


def _limits(found: Sequence[Ceiling]) -> str:
    values = [max(0, each.k) for each in found]
    return _join(f"k = {k} ({whom})" for k, whom in _by_value(values, found))


def _more(found: Sequence[Ceiling]) -> str:
    raised = [each for each in found if each.more is not None]
    if not raised:
        return "more trainings do not help: the noise and the number of rounds set it"
    told = []
    for (replicas, k), whom in _by_value([each.more for each in raised if each.more], raised):
        about = "" if len({each.more for each in raised}) == 1 and len(raised) == len(found) else f" ({whom})"
        told.append(f"M = {replicas:,} allows k = {k}{about}")
    return _join(told)


def _by_value(values: Sequence[V], found: Sequence[Ceiling]) -> Iterable[tuple[V, str]]:
    """Each value with the threats that have it, in the order of the threats."""
    pairs = list(zip(values, found, strict=True))
    for value, group in groupby(pairs, key=lambda pair: pair[0]):
        yield value, ", ".join(each.threat for _, each in group)


def _join(parts: Iterable[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def release_in_words(one: Guarantee, releasing_all: Guarantee, replicas: int) -> str:
    """What one training spends beside what releasing the certificate spends, and what to do about it.

    >>> about = {"delta": 1e-3, "unit": "user", "adjacency": "add/remove", "sampling": "", "rounds": 3,
    ...          "accountant": "pld", "noise_source": "seeded"}
    >>> release_in_words(Guarantee(epsilon=1.07, **about), Guarantee(epsilon=19.855, **about), 600)
    'Released, one training spends ε = 1.0700; this certificate, computed from 600, spends ε = 19.8550 at \
δ = 0.001. Keep it inside, or certify the same mechanism on public or proxy data.'
    """
    if not releasing_all.private:
        return f"It has no ε: {releasing_all.reason}."
    return (
        f"Released, one training spends ε = {epsilon_text(one.epsilon)}; this certificate, computed from "
        f"{replicas:,}, spends ε = {epsilon_text(releasing_all.epsilon)} at "
        f"δ = {delta_text(releasing_all.delta)}. Keep it inside, or certify the same mechanism on public or "
        "proxy data."
    )
