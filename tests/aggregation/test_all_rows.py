from __future__ import annotations

from typing import Any

import pytest
import torch

from aggregation.by_definition import combined, some_rows
from fedward.aggregation import (
    RULES,
    AllRows,
    Bucketing,
    Bulyan,
    CentredClipping,
    CoordinateMedian,
    DivideAndConquer,
    Flame,
    FLDetector,
    FLTrust,
    FoolsGold,
    GeometricMedian,
    Krum,
    Mean,
    MultiKrum,
    NearestNeighbourMixing,
    RobustLearningRate,
    Rule,
    SignGuard,
    TrimmedMean,
)
from fedward.base.validate import InvalidType, InvalidValue

# Each rule, how it is named in logs and errors, and the fewest rows that it can do with.
NEEDS: list[tuple[Rule, str, int]] = [
    (Krum(malicious=1), "Krum(malicious=1)", 5),
    (MultiKrum(malicious=1, selected=9), "MultiKrum(malicious=1, selected=9)", 9),
    (CoordinateMedian(), "CoordinateMedian()", 1),
    (TrimmedMean(trimmed=2), "TrimmedMean(trimmed=2)", 5),
    (GeometricMedian(), "GeometricMedian(tolerance=1e-06, most_steps=500)", 1),
    (Bulyan(malicious=1), "Bulyan(malicious=1)", 7),
    (CentredClipping(radius=1.0), "CentredClipping(radius=1.0, steps=1)", 1),
    (
        NearestNeighbourMixing(rule=CoordinateMedian(), malicious=2),
        "NearestNeighbourMixing(rule=CoordinateMedian(), malicious=2)",
        3,
    ),
    (Bucketing(rule=Krum(malicious=1)), "Bucketing(rule=Krum(malicious=1), size=2)", 9),
    (
        DivideAndConquer(malicious=2),
        "DivideAndConquer(malicious=2, filtered=1.0, times=1, coordinates=10000)",
        3,
    ),
    (FLTrust(root=0), "FLTrust(root=0)", 2),
    (FoolsGold(), "FoolsGold(confidence=1.0, compared=None)", 1),
    (Flame(), "Flame(noise=0.001, compared='models')", 1),
    (RobustLearningRate(threshold=2), "RobustLearningRate(threshold=2, rule=None)", 1),
    (SignGuard(), "SignGuard(lower=0.1, upper=3.0, share=0.1)", 1),
    (FLDetector(window=3), "FLDetector(window=3)", 1),
]


def test_every_rule_is_here() -> None:
    assert {type(rule) for rule, _, _ in NEEDS} == set(RULES.values())


@pytest.mark.parametrize(("rule", "name", "least"), NEEDS)
def test_too_few_rows_are_an_error_that_names_the_rule(rule: Rule, name: str, least: int) -> None:
    aggregator = AllRows(rule=rule)
    assert str(aggregator) == name
    assert aggregator.least_rows == least
    rows = some_rows("normal", least, 2, 0)
    with pytest.raises(InvalidValue) as error:
        aggregator.finish(rows[1:])
    assert str(error.value) == f"{name} needs at least {least} rows, got {least - 1}"
    assert bool(torch.isfinite(aggregator.finish(rows)).all())


@pytest.mark.parametrize("rule", [rule for rule, _, _ in NEEDS], ids=str)
def test_no_rule_has_a_sensitivity_and_missing_rows_are_no_rows(rule: Rule) -> None:
    aggregator = AllRows(rule=rule)
    for adjacency in ("add/remove", "replace-one", "local"):
        assert aggregator.sensitivity(1.0, adjacency) is None
    assert aggregator.needs_all_rows
    assert not aggregator.missing_as_zero


@pytest.mark.parametrize("rule", [rule for rule, _, _ in NEEDS], ids=str)
def test_a_row_that_is_changed_after_it_was_taken_does_not_change_the_result(rule: Rule) -> None:
    rows = some_rows("normal", 9, 3, 0)
    wanted = combined(rule, rows)
    aggregator = AllRows(rule=rule)
    total = aggregator.init(rows[0])
    for row in rows:
        sent = row.clone()
        total = aggregator.add(total, sent, 1)
        sent.fill_(0.0)
    assert torch.equal(aggregator.finish(total), wanted)


def test_rounds_do_not_share_their_rows() -> None:
    aggregator = AllRows(rule=CoordinateMedian())
    first = aggregator.add(aggregator.init(torch.zeros(1)), torch.ones(1), 1)
    assert aggregator.init(torch.zeros(1)) == []
    assert len(first) == 1


@pytest.mark.parametrize("rule", [Mean(expected_cohort=3.0), "krum", None])
def test_what_does_not_combine_rows_is_refused(rule: Any) -> None:
    with pytest.raises(InvalidType, match="rule must combine all rows of a round, got"):
        AllRows(rule=rule)
