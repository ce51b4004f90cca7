from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from fedward.base.validate import InvalidValue
from fedward.certificates import certified_k
from fedward.certificates.plan_goal import Goal
from fedward.certificates.planning import plan
from fedward.privacy import epsilon_of


def goal(**changes: Any) -> Goal:
    return Goal(**({"users": 200, "k": 5, "top": 0.8, "runner_up": 0.2} | changes))


def triples(options: Any) -> set[tuple[float, float, int]]:
    return {(option.noise_multiplier, option.sampling_rate, option.rounds) for option in options}


@pytest.mark.parametrize("threat", ["inject", "compromise"])
def test_a_plan_holds_every_point_that_certifies_and_no_other(threat: Any) -> None:
    noises, rates, rounds = [0.5, 1.0, 2.0, 4.0], [0.05, 0.3, 1.0], [1, 5]
    wanted = set()
    for z in noises:
        for q in rates:
            for t in rounds:
                event = PoissonSampledDpEvent(q, GaussianDpEvent(z))
                if certified_k([0.8], [0.2], [(event, t)], threat, most=5)[0] == 5:
                    wanted.add((z, q, t))
    assert 0 < len(wanted) < 24
    assert triples(plan(goal(threat=threat), noises, rates, rounds)) == wanted


def test_attackers_in_every_round_need_more_noise() -> None:
    drawn, always = (
        plan(goal(attendance=attendance), [1, 2, 4, 8, 16], [0.1], [2])
        for attendance in ("drawn", "every-round")
    )
    assert triples(always) < triples(drawn)
    # With q = 1 two rounds are one of multiplier z / sqrt(2): it is Φ(Φ^-1(0.8) - 5 sqrt(2) / z).
    assert min(option.noise_multiplier for option in always) == 16


def test_an_epsilon_is_not_exceeded() -> None:
    options = plan(goal(k=1, epsilon=0.5, delta=1e-3), [1, 2, 4], [0.1], [2])
    found = [option.noise_multiplier for option in options]
    wanted = [
        z
        for z in (1, 2, 4)
        if epsilon_of([(PoissonSampledDpEvent(0.1, GaussianDpEvent(z)), 2)], 1e-3, "pld", "add/remove") <= 0.5
    ]
    assert found == wanted
    assert 0 < len(wanted) < 3
    assert all(option.epsilon is not None and option.epsilon <= 0.5 for option in options)
    assert len(plan(goal(k=1), [1, 2, 4], [0.1], [2])) > len(found)


def test_options_state_cohort_and_noise_on_the_mean() -> None:
    (option,) = plan(goal(), [4.0, 4.0], [0.1], [3])
    assert (option.cohort, option.noise_on_mean, option.epsilon) == (20, 0.2, None)


def test_enough_of_many_examples_must_be_certified() -> None:
    top, runner_up = np.array([0.95, 0.9, 0.55, 0.3]), np.array([0.05, 0.1, 0.45, 0.3])
    few, more = (
        plan(goal(top=top, runner_up=runner_up, share=share), [1, 2, 4, 8, 32], [0.1], [3])
        for share in (0.5, 0.75)
    )
    assert triples(more) < triples(few)
    with pytest.raises(InvalidValue, match="share must be within reach without attackers, got 1: "):
        goal(top=top, runner_up=runner_up, share=1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: goal(users=0), "number of users must be at least 1, got 0"),
        (lambda: goal(k=0), "k must be at least 1, got 0"),
        (lambda: goal(k=201, threat="compromise"), "k must be at most the number of users, 200, got 201"),
        (lambda: goal(top=1.2), "top confidence must be from 0 to 1, got 1.2"),
        (lambda: goal(top=math.nan), "top confidence must be from 0 to 1, got nan"),
        (lambda: goal(top=0.8, runner_up=0.3), "must add up to at most 1, got 0.8 and 0.3"),
        (
            lambda: goal(top=0.3, runner_up=0.3),
            "top confidence must be above that of the runner-up, got 0.3 and 0.3",
        ),
        (lambda: goal(threat="attack"), "threat must be one of"),
        (lambda: goal(epsilon=1.0), "delta must be given together with epsilon"),
        (lambda: goal(epsilon=-1.0, delta=1e-5), "epsilon must be positive and finite, got -1.0"),
        (lambda: goal(delta=2.0), "delta must be above 0 and below 1, got 2.0"),
        (lambda: goal(share=0.0), "share must be above 0 and at most 1, got 0.0"),
        (lambda: plan(goal(), [], [0.1], [1]), "noise multipliers must be at least one, got none"),
        (lambda: plan(goal(), [-1.0], [0.1], [1]), "noise multiplier must be positive and finite, got -1.0"),
        (lambda: plan(goal(), [1.0], [1.1], [1]), "sampling rate must be above 0 and at most 1, got 1.1"),
        (lambda: plan(goal(), [1.0], [0.1], [0]), "rounds must be at least 1, got 0"),
        (
            lambda: plan(goal(attendance="chosen"), [1.0], [0.1], [1]),
            "must be certified with q = 1, got q = 0.1",
        ),
    ],
)
def test_goals_that_make_no_sense_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        call()
