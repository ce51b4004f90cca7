"""Trainings whose cohorts are drawn together for an epoch: their cohorts, their cost, their certificates."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, NoOpDpEvent, SelfComposedDpEvent

from fedward.backends import InProcess
from fedward.base.validate import InvalidValue
from fedward.certificates.threat import ThreatModel, certifiable, certifiable_algorithm
from fedward.clipping import Quantile
from fedward.core.algorithm import Algorithm
from fedward.core.epochs import first_of_epoch, new_coins
from fedward.core.round import draw_cohort
from fedward.core.train import train
from fedward.core.types import ServerState
from fedward.presets import dp_ftrl, user_dp_fedavg
from fedward.privacy import Budget, Guarantee, Ledger
from fedward.privacy.accounting_events import RandomAllocationDpEvent
from fedward.privacy.person import person_epsilon
from fedward.sampling import PoissonSampler, RandomAllocation
from support import tiny_federation, tiny_model, tiny_sgd

FEDERATION, MODEL = tiny_federation(), tiny_model()
EPOCH, ROUNDS = 3, 7


def allocated(**changes: Any) -> Algorithm:
    keys: dict[str, Any] = {"noise_multiplier": 2.0, "clip_bound": 0.7}
    sampler = RandomAllocation(epoch=EPOCH)
    return user_dp_fedavg(num_users=12, sampler=sampler, local=tiny_sgd(), **keys | changes)


def states(algorithm: Algorithm, state: ServerState | None = None, **options: Any) -> list[ServerState]:
    backend = InProcess(MODEL, FEDERATION)
    options = {"rounds": ROUNDS, "seed": 1, "state": state} | options
    return [after for after, _ in train(algorithm, MODEL, FEDERATION, backend, **options)]


@pytest.mark.parametrize("source", ["seeded", "system"])
def test_every_user_takes_part_once_in_every_epoch_and_epochs_differ(source: str) -> None:
    algorithm = allocated(noise_source=source)
    before = [algorithm.init(MODEL_PARAMETERS), *states(algorithm)]
    cohorts = [draw_cohort(algorithm, state, FEDERATION.roster, 1).tolist() for state in before[:6]]
    first, second = cohorts[:EPOCH], cohorts[EPOCH:]
    if source == "system":  # this state before round 0 is not the one that was trained from
        first = [[user for user in range(12) if user not in {*first[1], *first[2]}], *first[1:]]
    for epoch in (first, second):
        assert sorted(itertools.chain(*epoch)) == list(range(12))
    assert first != second or source == "system"


MODEL_PARAMETERS = states(allocated(), rounds=1)[0].parameters


def test_replicas_and_seeds_have_allocations_of_their_own() -> None:
    algorithm = allocated()
    one = draw_cohort(algorithm, algorithm.init(MODEL_PARAMETERS), FEDERATION.roster, 1).tolist()
    other = draw_cohort(algorithm, algorithm.init(MODEL_PARAMETERS, 1), FEDERATION.roster, 1).tolist()
    third = draw_cohort(algorithm, algorithm.init(MODEL_PARAMETERS), FEDERATION.roster, 2).tolist()
    assert one != other
    assert one != third


def test_coins_are_kept_for_an_epoch_then_forgotten_and_only_where_they_are_needed() -> None:
    seen = [state.coins for state in states(allocated(noise_source="system"))]
    # After round t: the coins of round t + 1.
    assert seen[0] == seen[1]
    assert seen[2] == seen[3] == seen[4]
    assert seen[5] == seen[6]
    assert len({seen[0], seen[2], seen[5]}) == 3
    assert {len(coins) for coins in seen} == {32}
    assert {state.coins for state in states(allocated())} == {""}
    poisson = replace(allocated(noise_source="system"), sampler=PoissonSampler(rate=0.5))
    assert new_coins(poisson) == ""
    assert [first_of_epoch(allocated().sampler, t) for t in range(7)] == [0, 0, 0, 3, 3, 3, 6]
    assert first_of_epoch(poisson.sampler, 5) == 5


def test_an_epoch_is_charged_at_its_start_and_the_guarantee_says_what_it_counts_on() -> None:
    algorithm = allocated()
    whole = RandomAllocationDpEvent(EPOCH, GaussianDpEvent(2.0))
    assert [algorithm.round_event(12, t) for t in range(4)] == [whole, NoOpDpEvent(), NoOpDpEvent(), whole]
    found = algorithm.guarantee(12, ROUNDS, 1e-5, "pld")
    assert "each user in one random round of every 3" in str(found)
    assert found.sampled
    assert found.terms.epoch == EPOCH
    assert Guarantee.from_json(json.loads(json.dumps(found.to_json()))) == found
    with pytest.raises(InvalidValue, match="epochs of 3 rounds must be those of the terms, got None"):
        Ledger(unit="user", adjacency="add/remove", noise_source="seeded").charged(whole, 1)
    assert found == states(algorithm)[-1].ledger.guarantee(1e-5, "pld")
    # Seven rounds are begun epochs, and nine are no more.
    assert found.epsilon == algorithm.guarantee(12, 9, 1e-5, "pld").epsilon
    assert found.epsilon > algorithm.guarantee(12, 6, 1e-5, "pld").epsilon


def test_a_budget_ends_a_training_between_epochs() -> None:
    algorithm = allocated()
    two = algorithm.guarantee(12, 6, 1e-3, "pld").epsilon
    assert len(states(algorithm, budget=Budget(epsilon=two, delta=1e-3, accountant="pld"))) == 6


def test_a_round_that_is_done_again_is_paid_for_without_its_coins() -> None:
    twice = SelfComposedDpEvent(GaussianDpEvent(2.0), 2)
    algorithm = allocated(noise_source="system")
    assert [algorithm.round_event(12, t, again=True) for t in (0, 1, 5)] == [twice] * 3


def test_what_does_not_go_with_it_is_refused() -> None:
    with pytest.raises(InvalidValue, match="charged for a whole epoch need a clip bound without looks"):
        allocated(
            clip_bound=None, policy=Quantile(initial=1.0, quantile=0.5, bit_noise=1.0, expected_cohort=4.0)
        )
    ftrl = dp_ftrl(
        num_users=12, local=tiny_sgd(), rounds=6, separation=3, noise_multiplier=2.0, clip_bound=0.7
    )
    with pytest.raises(InvalidValue, match="needs a sampler that keeps to its schema"):
        replace(ftrl, sampler=RandomAllocation(epoch=3))


def test_certificates_hold_for_attackers_who_choose_their_rounds_and_no_others() -> None:
    ledger = states(allocated())[-1].ledger
    certifiable_algorithm(allocated())
    for attendance in ("drawn", "chosen"):
        with pytest.raises(
            InvalidValue, match="must be certified with a round of their choice in every epoch"
        ):
            certifiable(ledger, ThreatModel(attendance=attendance))
    chosen = certifiable(ledger, ThreatModel(attendance="every-round"))
    assert chosen == ((GaussianDpEvent(2.0), 3),)


def test_a_person_with_several_devices_gains_nothing_from_random_rounds() -> None:
    ledger = states(allocated(noise_multiplier=8.0))[-1].ledger
    plain = replace(ledger, entries=()).charged(GaussianDpEvent(8.0), 3)
    assert person_epsilon(ledger, 1e-5, 2) == person_epsilon(plain, 1e-5, 2)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_attackers_who_choose_their_rounds_stay_within_what_is_certified(k: int) -> None:
    """Adaptive: each attacker once in an epoch, in the round that looks best after what was released."""
    rng, trials, z, epochs = np.random.default_rng(k), 60_000, 6.0, 3

    def trained(attack: str) -> float:
        model = np.zeros(trials)
        for t in range(EPOCH * epochs):
            if t % EPOCH == 0:
                left = np.full(trials, float(k) if attack != "none" else 0.0)
            last = t % EPOCH == EPOCH - 1
            now = left if attack == "together" or last else np.where(model > 0, left, np.minimum(left, 1.0))
            left = left - now
            model = model + now + z * rng.standard_normal(trials)
        return float((model > 6.0).mean())

    from scipy.stats import norm

    width = 5 * 0.5 / np.sqrt(trials)
    clean, most = trained("none"), k * np.sqrt(epochs) / z
    limit = float(norm.cdf(norm.ppf(clean + width) + most)) + width
    reached = [trained(attack) for attack in ("together", "wavering")]
    assert clean + width < max(reached) <= limit
