"""The part of the page that shows which test examples stay certified against how many attackers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Attack, Certificate
from fedward.certificates.statements import statements
from fedward.core.federation import Federation
from fedward.privacy.guarantee import Unit
from fedward.report.numbers import many, percent_certified
from fedward.report.page.certificate_words import LIMITS, RECOMPUTED, headline, in_words, rests_on_trust
from fedward.report.page.certified_curves import certified_charts, certified_table
from fedward.report.page.chart import Chart
from fedward.report.page.examples import Library, Look, class_name, looks
from fedward.report.page.tables import Table
from fedward.report.terminal.certified_table import title
from fedward.rundir.run_record import ReplicasRecord

_MOST_SHOWN = 300
_MOST_BYTES = 400_000
"""Pictures take most of the page: so many characters of it."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """A test example in the gallery, with its k under the first variant and threat."""

    number: int
    look: Look
    label: str
    top: str
    right: bool
    k: int


@dataclass(frozen=True, kw_only=True)
class CertifiedPart:
    """The certificates of a run, as the page shows them.

    ``explorer`` is what the page's script works with: for each variant and threat how many examples have
    which largest k, and that k for each example that is shown.
    """

    key: str
    words: tuple[tuple[str, tuple[str, ...]], ...]
    limits: tuple[str, ...]
    statements: tuple[tuple[str, tuple[str, ...]], ...]
    recomputed: str
    trust: tuple[tuple[str, tuple[str, ...]], ...]
    charts: tuple[Chart, ...]
    table: Table
    explorer: dict[str, Any]
    variants: tuple[str, ...]
    threats: tuple[tuple[str, str], ...]
    start: int
    most: int
    said: str
    examples: tuple[Example, ...]
    total: int
    no_pictures: str


def certified_part(run: ReplicasRecord, key: str, library: Library) -> CertifiedPart:
    """Reads everything off the certificates of a run."""
    variants = list(run.certificates)
    first = run.certificates[variants[0]]
    unit = first.setting.ledger.unit
    explorer = _explorer(run, unit)
    federation, why = _federation(run, library)
    examples = _gallery(run, first, federation)
    for each, certificate in zip(explorer["variants"], run.certificates.values(), strict=True):
        each["top"] = [_name(federation, int(label)) for label in certificate.bounds.top[: len(examples)]]
        for threat, attack in zip(each["threats"], certificate.attacks, strict=True):
            threat["shown"] = attack.k[: len(examples)].tolist()
    start = headline(first.attacks[0])
    return CertifiedPart(
        key=key,
        words=tuple(_words(run)),
        limits=LIMITS,
        statements=tuple((name, tuple(statements(each))) for name, each in run.certificates.items()),
        recomputed=RECOMPUTED,
        trust=tuple((name, rests_on_trust(each)) for name, each in run.certificates.items()),
        charts=tuple(chart for chart in certified_charts(run, key) if chart.drawn),
        table=certified_table(run),
        explorer=explorer,
        variants=tuple(variants),
        threats=tuple((attack.threat, title(attack.threat, unit)) for attack in first.attacks),
        start=start,
        most=max(1, int(first.attacks[0].k.max())),
        said=said(explorer["variants"][0]["threats"][0], start, first.examples),
        examples=examples,
        total=first.examples,
        no_pictures=why,
    )


def said(threat: dict[str, Any], k: int, total: int) -> str:
    """How many are certified against k; the page's script says the same for every k.

    >>> said({"right": [[0, 10], [3, 5]], "wrong": [[0, 1]]}, 1, 20).partition(";")[2]
    ' 0 more are certified, but not right.'
    """
    right, wrong = (sum(n for largest, n in threat[name] if largest >= k) for name in ("right", "wrong"))
    return (
        f"{right} of {many(total, 'test example')} ({percent_certified(right / total)}) are right and "
        f"certified against {k}; {wrong} more are certified, but not right."
    )


def _words(run: ReplicasRecord) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, certificate in run.certificates.items():
        attack = certificate.attacks[0]
        yield name, in_words(certificate, attack, headline(attack))


def _explorer(run: ReplicasRecord, unit: Unit) -> dict[str, Any]:
    return {
        "total": next(iter(run.certificates.values())).examples,
        "variants": [
            {
                "name": name,
                "threats": [
                    {
                        "threat": attack.threat,
                        "title": title(attack.threat, unit),
                        "right": _counts(attack, _right(run, certificate)),
                        "wrong": _counts(attack, ~_right(run, certificate)),
                        "last": attack.most,
                        "start": headline(attack),
                    }
                    for attack in certificate.attacks
                ],
            }
            for name, certificate in run.certificates.items()
        ],
    }


def _right(run: ReplicasRecord, certificate: Certificate) -> Any:
    labels = run.labels
    if labels is None or len(labels) != certificate.examples:
        raise InvalidValue(
            f"{run.path / 'labels.npz'} must hold the classes of {certificate.examples} test examples, "
            f"got {'none' if labels is None else len(labels)}"
        )
    return certificate.bounds.top == labels


def _counts(attack: Attack, which: Any) -> list[list[int]]:
    values, counts = np.unique(attack.k[which], return_counts=True)
    return [[int(k), int(count)] for k, count in zip(values, counts, strict=True)]


def _federation(run: ReplicasRecord, library: Library) -> tuple[Federation | None, str]:
    """The data, for its test examples; None, and why, if it is not at hand or another."""
    try:
        _, federation = library.load(next(iter(run.experiments.values())))
    except InvalidValue as error:
        return None, f"The examples themselves cannot be shown: {error}."
    test = federation.test
    if test is None or run.labels is None or not np.array_equal(test.y.numpy(), run.labels):
        return None, "The examples themselves cannot be shown: the data at hand is not that of the run."
    return federation, ""


def _gallery(
    run: ReplicasRecord, certificate: Certificate, federation: Federation | None
) -> tuple[Example, ...]:
    count = min(certificate.examples, _MOST_SHOWN)
    found = [Look()] * count
    if federation is not None and federation.test is not None:
        found = looks(federation, federation.test.select(torch.arange(count)))
    labels, right = run.labels, _right(run, certificate)
    assert labels is not None  # _right has looked
    examples: list[Example] = []
    spent = 0
    for number, look in enumerate(found):
        spent += len(look.picture) + len(look.text)
        if spent > _MOST_BYTES:
            break
        examples.append(
            Example(
                number=number + 1,
                look=look,
                label=_name(federation, int(labels[number])),
                top=_name(federation, int(certificate.bounds.top[number])),
                right=bool(right[number]),
                k=int(certificate.attacks[0].k[number]),
            )
        )
    return tuple(examples)


def _name(federation: Federation | None, label: int) -> str:
    return str(label) if federation is None else class_name(federation, label)
