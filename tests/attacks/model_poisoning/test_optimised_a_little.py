from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from attacks.model_poisoning.seen_rows import HONEST, seen, sent
from fedward.aggregation import AllRows, CoordinateMedian, Krum, Mean, MultiKrum, Rule, TrimmedMean
from fedward.attacks import Attack, NamedUsers
from fedward.attacks.model_poisoning import ALittleIsEnough, OptimisedALittle
from fedward.attacks.model_poisoning.known_defence import Averaged, Rehearsal
from fedward.base.validate import InvalidType, InvalidValue
from fedward.presets import krum
from fedward.sampling import EveryoneSampler
from support import tiny_algorithm, tiny_federation, tiny_sgd

RULES: list[Rule] = [
    CoordinateMedian(),
    TrimmedMean(trimmed=3),
    Krum(malicious=3),
    MultiKrum(malicious=3),
    Averaged(aggregator=Mean(expected_cohort=10.0)),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_it_does_no_less_harm_than_the_attack_with_any_fixed_factor_on_its_grid(rule: Rule) -> None:
    sight = seen()
    rehearsal = Rehearsal.of(rule, sight, "an attack")
    best = rehearsal.distance(sent(OptimisedALittle(rule=rule), sight))
    for factor in (1.0, 2.0, 5.0, 10.0):
        assert best >= rehearsal.distance(sent(ALittleIsEnough(deviations=factor), sight)) - 1e-5


def test_all_attackers_send_the_same_and_what_they_trained_does_not_matter() -> None:
    sight, part = seen(), OptimisedALittle(rule=CoordinateMedian())
    assert torch.equal(sent(part, sight, 0), sent(part, sight, 2))
    assert torch.equal(sent(part, sight), sent(part, seen(own=-7 * torch.as_tensor(HONEST[:3]))))


def test_staged_on_an_algorithm_it_knows_the_rule_and_its_parameters() -> None:
    attack = Attack(who=NamedUsers(users=(1, 4)), model=(OptimisedALittle(),), knowledge="cohort")
    algorithm = krum(sampler=EveryoneSampler(), local=tiny_sgd(), malicious=2)
    (part,) = attack.stage(algorithm, tiny_federation(), 1).adversary.model
    assert part == OptimisedALittle(rule=Krum(malicious=2))
    (part,) = attack.stage(tiny_algorithm(), tiny_federation(), 1).adversary.model
    assert part == OptimisedALittle(rule=Averaged(aggregator=tiny_algorithm().aggregator))
    presumed = replace(attack, model=(OptimisedALittle(rule=CoordinateMedian()),))
    (part,) = presumed.stage(algorithm, tiny_federation(), 1).adversary.model
    assert part == OptimisedALittle(rule=CoordinateMedian())
    assert OptimisedALittle().against(AllRows(rule=CoordinateMedian())) == part


def test_without_honest_rows_or_a_rule_there_is_nothing_to_search() -> None:
    assert torch.equal(
        sent(OptimisedALittle(rule=CoordinateMedian()), seen(honest=HONEST[:0])), torch.zeros(5)
    )
    with pytest.raises(InvalidValue, match="optimised_a_little needs to know the server's rule"):
        sent(OptimisedALittle(), seen())
    with pytest.raises(InvalidValue, match="needs attackers that know the cohort and all honest rows"):
        sent(OptimisedALittle(rule=CoordinateMedian()), seen(honest=None))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [({"largest": 0.0}, InvalidValue), ({"largest": "1"}, InvalidType), ({"steps": 0}, InvalidValue)],
)
def test_a_search_over_nothing_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"largest number of deviations|number of steps"):
        OptimisedALittle(**arguments)
