from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from dp_accounting import (
    DpEvent,
    GaussianDpEvent,
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
)

from fedward.attacks.staged_cohort import StagedCohort
from fedward.base.validate import InvalidValue
from fedward.certificates.instance import LocalDp, dominating_user
from fedward.certificates.prediction import certified_k
from fedward.certificates.threat import ThreatModel, certifiable, certifiable_algorithm
from fedward.clipping import Quantile
from fedward.presets import fedavg, ldp_fedsgd
from fedward.privacy.group import DIRECTIONS, group_curve
from fedward.privacy.group_round import GroupRound
from fedward.privacy.ledger import Ledger
from fedward.privacy.losses import compose, hockey_stick
from fedward.privacy.terms import ExactAttackers, Terms
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from support import one_round, tiny_algorithm, tiny_federation, tiny_sgd

POISSON = PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
STAGED = Terms(staged=ExactAttackers(each=2, attackers=4))


def ledger(event: DpEvent, **changes: Any) -> Ledger:
    fields: dict[str, Any] = {
        "unit": "user",
        "adjacency": "add/remove",
        "noise_source": "seeded",
    }
    return Ledger(**(fields | changes)).charged(event, 3)


def test_what_the_server_draws_is_certified_as_it_was_spent() -> None:
    assert certifiable(ledger(POISSON), ThreatModel()) == ((POISSON, 3),)


def test_a_reserved_round_counts() -> None:
    spent = ledger(POISSON).reserve(3, POISSON)
    assert certifiable(spent, ThreatModel()) == ((POISSON, 4),)


@pytest.mark.parametrize(
    ("spent", "model", "reason"),
    [
        (
            ledger(SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(3.0)), adjacency="replace-one"),
            ThreatModel(),
            "fixed-size sampling",
        ),
        (
            ledger(NonPrivateDpEvent(), reason="the bound is the raw median of private norms"),
            ThreatModel(),
            "raw median",
        ),
        (ledger(POISSON, reason="weights depend on private data"), ThreatModel(), "private data"),
        (ledger(NonPrivateDpEvent()), ThreatModel(), "without noise"),
        (ledger(GaussianDpEvent(3.0), adjacency="replace-one"), ThreatModel(), "replace-one"),
        (ledger(GaussianDpEvent(3.0), adjacency="local"), ThreatModel(), "local"),
        (ledger(POISSON), ThreatModel(attendance="chosen"), "q = 0.1"),
        (ledger(POISSON, unit="example"), ThreatModel(), "skips its local noise"),
        (ledger(POISSON, terms=STAGED), ThreatModel(), "sampled like everybody else, got Poisson"),
        (
            ledger(POISSON, terms=STAGED),
            ThreatModel(attendance="every-round", behaviour="data"),
            "staged with exactly 2 of 4 attackers",
        ),
        (
            ledger(
                SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(3.0)),
                adjacency="replace-one",
                terms=STAGED,
            ),
            ThreatModel(),
            "sampled like everybody else",
        ),
        (
            Ledger(unit="user", adjacency="add/remove", noise_source="seeded"),
            ThreatModel(),
            "at least one round",
        ),
    ],
)
def test_what_the_bounds_do_not_cover_is_refused(spent: Ledger, model: ThreatModel, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason):
        certifiable(spent, model)


def test_attackers_that_choose_their_rounds_are_certified_where_everybody_takes_part() -> None:
    plain = GaussianDpEvent(3.0)
    assert certifiable(ledger(plain), ThreatModel(attendance="chosen")) == ((plain, 3),)
    everyone = PoissonSampledDpEvent(1.0, plain)
    assert certifiable(ledger(everyone), ThreatModel(attendance="chosen")) == ((plain, 3),)


def test_attackers_in_every_round_get_no_help_from_sampling() -> None:
    always = certifiable(ledger(POISSON), ThreatModel(attendance="every-round"))
    assert always == ((GaussianDpEvent(3.0), 3),)
    drawn = certifiable(ledger(POISSON), ThreatModel())
    assert certified_k(0.95, 0.05, always, "inject") < certified_k(0.95, 0.05, drawn, "inject")


def test_poisoned_examples_are_certified_when_only_data_is_poisoned() -> None:
    spent = ledger(POISSON, unit="example")
    assert certifiable(spent, ThreatModel(behaviour="data")) == ((POISSON, 3),)


def test_a_real_algorithm_is_certifiable_and_its_ledger_too() -> None:
    algorithm, federation = tiny_algorithm(), tiny_federation()
    certifiable_algorithm(algorithm)
    state, _, plan = one_round(
        algorithm, algorithm.init(torch.zeros(3)), federation, lambda user: torch.ones(3)
    )
    assert certifiable(state.ledger, ThreatModel()) == ((plan.event, 1),)


@pytest.mark.parametrize(
    ("algorithm", "reason"),
    [
        (fedavg(sampler=PoissonSampler(rate=0.5), local=tiny_sgd()), "aggregator with a sensitivity"),
        (tiny_algorithm(sampler=FixedSizeSampler(size=4)), "fixed-size"),
        (
            replace(
                tiny_algorithm(),
                sampler=StagedCohort(sampler=PoissonSampler(rate=0.5), attackers=(1, 2), each=1),
            ),
            "sampled like everybody else, got Poisson sampling q = 0.5, staged with exactly 1 of 2",
        ),
        (tiny_algorithm(sampler=EveryoneSampler(adjacency="replace-one")), "added or removed"),
    ],
)
def test_algorithms_that_cannot_be_certified_are_refused_before_training(algorithm: Any, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason):
        certifiable_algorithm(algorithm)


def test_what_the_servers_looks_cost_is_no_ledger_of_a_training() -> None:
    """It says nothing about the models: a certificate from it would hold for nobody."""
    looking = ldp_fedsgd(
        num_users=12,
        sampler=PoissonSampler(rate=0.5),
        noise_multiplier=2.0,
        policy=Quantile(initial=0.1, quantile=0.5, bit_noise=2.0, expected_cohort=6),
    )
    with pytest.raises(InvalidValue, match="got what the server's looks at norms"):
        certifiable(looking.planned_ledger(12, 3), ThreatModel())
    with pytest.raises(InvalidValue, match="one ledger for all, got ldp_fedsgd"):
        certifiable_algorithm(looking)


@pytest.mark.parametrize("field", ["threat", "attendance", "behaviour"])
def test_a_threat_model_checks_itself(field: str) -> None:
    with pytest.raises(InvalidValue, match=f"{field} must be one of"):
        ThreatModel(**{field: "none"})  # type: ignore[arg-type]


def test_the_dominating_user_has_the_worst_of_each() -> None:
    users = [
        LocalDp(batch_rate=0.05, steps=100, noise_multiplier=4.0),
        LocalDp(batch_rate=0.04, steps=120, noise_multiplier=3.0),
    ]
    assert dominating_user(users) == ((PoissonSampledDpEvent(0.05, GaussianDpEvent(3.0)), 120),)


def test_all_poisoned_examples_in_the_worst_user_show_most() -> None:
    users = [
        LocalDp(batch_rate=0.2, steps=6, noise_multiplier=2.0),
        LocalDp(batch_rate=0.1, steps=8, noise_multiplier=1.5),
    ]
    k, step = 5, 0.01
    worst = group_curve(dominating_user(users), k)
    for split in range(k + 1):
        # Each user trains on noise of its own: an onlooker sees both trainings, the composition of the two.
        parts = [
            (
                GroupRound(rate=user.batch_rate, noise_multiplier=user.noise_multiplier, k=n, tail=1e-15),
                user.steps,
            )
            for user, n in zip(users, (split, k - split), strict=True)
            if n
        ]
        for side, direction in enumerate(DIRECTIONS):
            losses = compose([(part.losses(step)[side], times) for part, times in parts], 1e-13)
            spread = hockey_stick(losses, step)
            together = np.array([worst.delta(direction, i * step) for i in range(len(spread))])  # type: ignore[arg-type]
            assert np.all(spread <= together + 1e-9)


@pytest.mark.parametrize(
    "changes", [{"batch_rate": 0.0}, {"batch_rate": 1.5}, {"steps": 0}, {"noise_multiplier": -1.0}]
)
def test_impossible_local_training_is_refused(changes: dict[str, Any]) -> None:
    user = LocalDp(batch_rate=0.1, steps=5, noise_multiplier=1.0)
    with pytest.raises(InvalidValue):
        replace(user, **changes)
    with pytest.raises(InvalidValue, match="at least one user"):
        dominating_user([])
