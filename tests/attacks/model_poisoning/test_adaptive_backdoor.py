from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attacks.model_poisoning.seen_rows import HONEST, OWN, seen, sent
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
from fedward.attacks import Attack, NamedUsers
from fedward.attacks.model_poisoning import AdaptiveBackdoor, Collude, Scale
from fedward.attacks.model_poisoning.known_defence import Averaged, Rehearsal
from fedward.base.validate import InvalidType, InvalidValue

KNOWN: list[Rule] = [
    Krum(malicious=1),
    MultiKrum(malicious=2),
    CoordinateMedian(),
    TrimmedMean(trimmed=3),
    GeometricMedian(),
    Bulyan(malicious=1),
    CentredClipping(radius=0.5),
    NearestNeighbourMixing(rule=CoordinateMedian(), malicious=3),
    Bucketing(rule=CoordinateMedian()),
    DivideAndConquer(malicious=3),
    FLTrust(root=100),
    FoolsGold(),
    Flame(noise=0.0, compared="updates"),
    RobustLearningRate(threshold=4),
    SignGuard(share=1.0),
    FLDetector(window=2),
]


def reached(rule: Rule, rows: list[Any]) -> float:
    """How far the rule's result goes towards what the attackers trained."""
    rehearsal = Rehearsal.of(rule, seen(), "an attack")
    towards = torch.as_tensor(OWN).double().mean(0) - rehearsal.mean
    outcome = rehearsal.outcome_of([torch.as_tensor(row) for row in rows])
    assert outcome is not None
    return float((outcome - rehearsal.mean) @ towards / towards.norm())


def adaptive(rule: Rule, **arguments: Any) -> list[Any]:
    sight, part = seen(), AdaptiveBackdoor(rule=rule, **arguments)
    return [sent(part, sight, user, seed=user) for user in range(len(OWN))]


def test_there_is_one_for_every_defence() -> None:
    assert {type(rule) for rule in KNOWN} == set(RULES.values())


@pytest.mark.parametrize("rule", KNOWN, ids=str)
def test_whoever_knows_the_rule_gets_at_least_as_far_as_whoever_does_not(rule: Rule) -> None:
    best = reached(rule, adaptive(rule))
    crew = seen()
    together = torch.as_tensor(OWN).mean(0)
    assert best >= reached(rule, [together] * 3) - 1e-5
    assert best >= reached(rule, [sent(Collude(), crew)] * 3) - 1e-5


def test_against_a_plain_mean_it_goes_as_far_as_it_is_let() -> None:
    rows = adaptive(Averaged(aggregator=Mean(expected_cohort=10.0)), largest=4.0, spreads=(0.0,))
    mean = torch.as_tensor(HONEST).double().mean(0)
    wanted = mean + 4.0 * (torch.as_tensor(OWN).double().mean(0) - mean)
    assert np.allclose(rows[0], wanted, atol=1e-5)
    assert torch.equal(rows[0], rows[1])


def test_rows_differ_where_a_rule_silences_equal_ones_and_their_mean_stays() -> None:
    equal, apart = (adaptive(FoolsGold(), spreads=spreads) for spreads in ((0.0,), (0.0, 2.0)))
    assert torch.equal(equal[0], equal[1])
    assert not torch.equal(apart[0], apart[1])
    assert reached(FoolsGold(), apart) > reached(FoolsGold(), equal)


def test_staged_on_an_algorithm_it_knows_the_rule_and_says_that_it_does() -> None:
    assert AdaptiveBackdoor().against(AllRows(rule=CoordinateMedian())).rule == CoordinateMedian()
    who = NamedUsers(users=(1,))
    assert Attack(who=who, model=(AdaptiveBackdoor(),), knowledge="cohort").adapts
    assert not Attack(who=who, model=(Scale(factor=2.0),)).adapts
    with pytest.raises(InvalidValue, match="adaptive_backdoor needs to know the server's rule"):
        sent(AdaptiveBackdoor(), seen())


def test_without_honest_rows_or_anything_to_want_the_mean_of_the_attackers_is_sent() -> None:
    part, mean = AdaptiveBackdoor(rule=CoordinateMedian()), torch.as_tensor(OWN).double().mean(0).float()
    assert torch.equal(sent(part, seen(honest=HONEST[:0])), mean)
    same = np.repeat(HONEST[:1], 3, axis=0)
    assert torch.equal(sent(part, seen(same, same)), torch.as_tensor(HONEST[0]))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"largest": 0.0}, InvalidValue),
        ({"steps": 0}, InvalidValue),
        ({"spreads": ()}, InvalidValue),
        ({"spreads": (-1.0,)}, InvalidValue),
        ({"spreads": [1.0]}, InvalidType),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="must"):
        AdaptiveBackdoor(**arguments)
