from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedward.certificates.ceiling import best_lower
from fedward.certificates.pilot import Noise, Pilot
from fedward.certificates.plan_goal import Goal
from fedward.certificates.planning import Option, needed_at, option
from fedward.certificates.recommendation import Prospect, choose, judge, recommend

GOAL = Goal(users=1000, k=3, epsilon=2.0, classes=5)


def pilot(noise: Noise, firmness: Any) -> Pilot:
    values = np.asarray(firmness, dtype=np.float64)
    return Pilot(noise=noise, expected=values, cautious=values - 0.1, replicas=16, classes=5)


def at(q: float, t: int) -> Option:
    found = option(GOAL, q, t)
    assert found is not None
    return found


def test_a_firm_model_is_given_more_noise_than_epsilon_asks_for() -> None:
    one = at(1.0, 1)
    # The least noise for ε needs votes of 97 %; of a model this firm more noise certifies more.
    found = judge(GOAL, one, pilot(one.noise, np.linspace(0, 6, 200)))
    assert found.option.noise.noise_multiplier > one.noise.noise_multiplier
    assert found.option.limited_by == "share"
    assert found.evidence == "scaled"
    alone = judge(GOAL, one, pilot(one.noise, np.linspace(0, 6, 200)))
    assert alone == found


def test_a_weak_model_is_left_with_the_least_noise() -> None:
    one = at(0.1, 10)
    found = judge(GOAL, one, pilot(one.noise, [-1.0, 0.1, 0.2]))
    assert (found.option, found.evidence) == (one, "measured")
    assert found.shares is not None
    assert found.shares.cautious == 0


def test_of_those_that_are_nearly_as_good_the_least_work_is_chosen() -> None:
    one, other = at(0.1, 3), at(1.0, 3)
    firm = np.linspace(0, 8, 400)
    prospects = [judge(GOAL, each, pilot(each.noise, firm)) for each in (other, one)]
    assert choose(prospects) == prospects[1]
    far = replace(prospects[1], shares=replace(prospects[1].shares, cautious=0.1))  # type: ignore[type-var]
    assert choose([prospects[0], far]) == prospects[0]
    assert choose([]) is None


def test_without_a_pilot_the_least_noise_for_what_is_learned_is_chosen() -> None:
    prospects = [judge(GOAL, at(q, t), None) for q, t in ((0.01, 1), (0.1, 1), (1.0, 1), (1.0, 10))]
    chosen = choose(prospects)
    assert chosen is not None
    # Ten rounds of everyone have as much noise for what they learn, and are ten times the work.
    assert (chosen.option.noise.sampling_rate, chosen.option.noise.rounds) == (1.0, 1)
    assert chosen.evidence == "unknown"
    answer = recommend(GOAL, chosen, None)
    assert answer.largest_k is answer.reached is None
    assert answer.guarantee.epsilon <= 2.0 < answer.releasing_all.epsilon
    assert answer.least_replicas is not None
    assert answer.replicas >= answer.least_replicas
    assert answer.ceiling >= GOAL.k


def test_so_many_replicas_are_enough_and_the_answer_fits_together() -> None:
    one = at(0.1, 10)
    firm = pilot(one.noise, np.linspace(0, 5, 300))
    answer = recommend(GOAL, judge(GOAL, one, firm), firm)
    noise = answer.prospect.option.noise
    assert answer.prospect.shares is not None
    assert answer.reached is (answer.prospect.shares.cautious >= 0.5)
    assert answer.largest_k is not None
    assert GOAL.k <= answer.largest_k <= answer.ceiling
    beyond = needed_at(GOAL, noise.sampling_rate, noise.rounds, noise.noise_multiplier, answer.ceiling + 1)
    assert beyond is None or beyond > best_lower("clopper_pearson", answer.replicas, GOAL.each)
    assert answer.guarantee.noise_source is None
    assert answer.releasing_all.rounds == answer.replicas * noise.rounds


def test_m_that_is_given_is_kept() -> None:
    goal = replace(GOAL, replicas=77)
    found = option(goal, 0.1, 10)
    assert found is not None
    assert recommend(goal, Prospect(option=found, shares=None, evidence="unknown"), None).replicas == 77


def test_a_share_that_cannot_be_had_is_said() -> None:
    one = at(0.1, 10)
    weak = pilot(one.noise, [-1.0] * 9 + [8.0])
    answer = recommend(GOAL, judge(GOAL, one, weak), weak)
    assert answer.reached is False
    assert answer.prospect.shares is not None
    assert answer.prospect.shares.cautious == pytest.approx(0.1)
    assert answer.largest_k is None
