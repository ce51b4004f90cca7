"""The part of the page that shows which test examples stay certified against how many attackers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from markupsafe import Markup
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue
from fedward.certificates.beside_headline import ceiling_in_words, release_in_words
from fedward.certificates.ceiling import ceilings
from fedward.certificates.certificate import Certificate
from fedward.certificates.statements import statements
from fedward.core.federation import Federation
from fedward.reports.numbers import many, percent_certified
from fedward.reports.page.certified.certified_curves import certified_charts, certified_table
from fedward.reports.page.certified.three_accuracies import (
    ThreeAccuracies,
    by_groups,
    labels_of,
    three_accuracies,
)
from fedward.reports.page.charts.chart import Chart
from fedward.reports.page.examples.example_looks import Look, class_name, looks
from fedward.reports.page.words.certificate_words import headline, in_words, rests_on_trust
from fedward.reports.templates import fill
from fedward.reports.terminal.certified_table import title
from fedward.rundir.run_record import ReplicasRecord
from fedward.studies.stored_data import Library

_MOST_SHOWN = 300
_MOST_BYTES = 400_000
"""Pictures take most of the page: so many characters of it."""


@dataclass(frozen=True, kw_only=True)
class ThreatCounts:
    """One threat as the page's script reads it.

    ``right`` and ``wrong`` are pairs of a largest k and how many examples have it, ``shown`` is that k for
    each example that is shown, ``last`` the k that the search ended at, ``start`` the one shown first.
    """

    threat: str
    title: str
    right: list[list[int]]
    wrong: list[list[int]]
    last: int
    start: int
    shown: list[int]


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One certificate: its three accuracies, its words, what limits it, its exact statements, what it rests
    on, and what the examples shown are predicted to be."""

    name: str
    three: ThreeAccuracies
    words: list[str]
    limits: tuple[str, ...]
    statements: tuple[str, ...]
    trust: tuple[str, ...]
    threats: tuple[ThreatCounts, ...]
    top: tuple[str, ...]

    @property
    def explorer(self) -> dict[str, Any]:
        """What the page's script works with."""
        return {"name": self.name, "threats": list(map(asdict, self.threats)), "top": self.top}


def certified_part(
    run: ReplicasRecord, key: str, library: Library, colours: Mapping[str, int] | None = None
) -> Markup:
    """Everything that the certificates of a run say, and the test examples that they are about.

    Args:
      colours: the number of each variant's colour on the page.
    """
    first = next(iter(run.certificates.values()))
    federation, why = _federation(run, library)
    examples = _gallery(labels_of(run, first), federation)
    variants = [
        Variant(
            name=name,
            three=three_accuracies(run, name),
            words=in_words(each, each.attacks[0], headline(each.attacks[0])),
            limits=_beside(run, name, each),
            statements=tuple(statements(each)),
            trust=rests_on_trust(each),
            threats=_threats(run, each, len(examples)),
            top=tuple(class_name(federation, int(label)) for label in each.bounds.top[: len(examples)]),
        )
        for name, each in run.certificates.items()
    ]
    counts, total = variants[0].threats[0], first.examples
    return fill(
        "page/certified/certified.html",
        key=key,
        variants=variants,
        groups=by_groups(first),
        charts=_charts(run, key, colours or {}),
        table=certified_table(run),
        most=max(1, int(first.attacks[0].k.max()) + 1),
        said=counts_in_words(counts, counts.start, total),
        examples=examples,
        total=total,
        no_pictures=why,
        explorer={"total": total, "variants": [each.explorer for each in variants]},
    )


def _charts(run: ReplicasRecord, key: str, colours: Mapping[str, int]) -> list[Chart]:
    drawn = [chart for chart in certified_charts(run, key) if chart.drawn]
    if len(run.certificates) > 1:
        return [chart.of_variants(colours) for chart in drawn]
    return [chart.of_run(next(iter(colours.values()), 0)) for chart in drawn]


def _beside(run: ReplicasRecord, variant: str, certificate: Certificate) -> tuple[str, str]:
    """What M allows at most, and what a release costs."""
    found = ceilings(certificate.setting, classes=certificate.classes, examples=certificate.examples)
    replicas = certificate.setting.confidence.replicas
    return (
        ceiling_in_words(found),
        release_in_words(run.one_training(variant), certificate.releasing_all, replicas),
    )


def counts_in_words(counts: ThreatCounts, k: int, total: int) -> str:
    """How many are certified against k; the page's script says the same for every k.

    >>> right, wrong = [[0, 10], [3, 5]], [[0, 1]]
    >>> counts = ThreatCounts(threat="inject", title="", right=right, wrong=wrong, last=9, start=0, shown=[])
    >>> counts_in_words(counts, 1, 20).partition(";")[2]
    ' 0 more are certified, but not right.'
    """
    right, wrong = (sum(n for largest, n in own if largest >= k) for own in (counts.right, counts.wrong))
    return (
        f"{right} of {many(total, 'test example')} ({percent_certified(right / total)}) are right and "
        f"certified against {k}; {wrong} more are certified, but not right."
    )


def _threats(run: ReplicasRecord, certificate: Certificate, shown: int) -> tuple[ThreatCounts, ...]:
    right = certificate.bounds.top == labels_of(run, certificate)
    return tuple(
        ThreatCounts(
            threat=attack.threat,
            title=title(attack.threat, certificate.setting.ledger.unit),
            right=_counts(attack.k[right]),
            wrong=_counts(attack.k[~right]),
            last=attack.most,
            start=headline(attack),
            shown=attack.k[:shown].tolist(),
        )
        for attack in certificate.attacks
    )


def _counts(k: NDArray[np.int64]) -> list[list[int]]:
    found: list[list[int]] = np.transpose(np.unique(k, return_counts=True)).tolist()
    return found


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


def _gallery(labels: NDArray[np.int64], federation: Federation | None) -> tuple[tuple[Look, str], ...]:
    """The first test examples and their classes, as many as the page has room for."""
    count = min(len(labels), _MOST_SHOWN)
    found = [Look()] * count
    if federation is not None and federation.test is not None:
        found = looks(federation, federation.test.select(torch.arange(count)))
    sizes = itertools.accumulate(len(look.picture) + len(look.text) for look in found)
    shown = [look for look, size in zip(found, sizes, strict=True) if size <= _MOST_BYTES]
    return tuple(
        (look, class_name(federation, int(label))) for look, label in zip(shown, labels, strict=False)
    )
