from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from fedward.base.validate import InvalidValue
from fedward.certificates import certified_k
from fedward.certificates.pilot import Noise
from fedward.certificates.plan_goal import Goal
from fedward.certificates.planning import Option, epsilon_bound, least_noise, needed_at, option, options
from fedward.privacy import epsilon_of


def goal(**changes: Any) -> Goal:
    return Goal(**({"users": 200, "k": 5} | changes))


def found(*arguments: Any, **more: Any) -> Option:
    one = option(*arguments, **more)
    assert one is not None
    return one


def spent(noise: Noise) -> list[Any]:
    event = PoissonSampledDpEvent(noise.sampling_rate, GaussianDpEvent(noise.noise_multiplier))
    return [(event, noise.rounds)]


@pytest.mark.parametrize("threat", ["inject", "present", "compromise"])
@pytest.mark.parametrize(("q", "t"), [(0.05, 5), (0.3, 1), (1.0, 5)])
def test_the_least_noise_certifies_the_assumed_vote_and_a_little_less_does_not(
    threat: Any, q: float, t: int
) -> None:
    one = found(goal(threat=threat), q, t, top=0.8)
    assert one.limited_by == "k"
    assert certified_k([0.8], [0.2], spent(one.noise), threat, most=5)[0] == 5
    less = Noise(noise_multiplier=0.97 * one.noise.noise_multiplier, sampling_rate=q, rounds=t, users=200)
    # Where the least noise that is tried is enough, there is nothing less.
    if one.noise.noise_multiplier > 0.2:
        assert certified_k([0.8], [0.2], spent(less), threat, most=5)[0] < 5


@pytest.mark.parametrize(("q", "t"), [(0.01, 30), (0.1, 10), (1.0, 3)])
def test_the_least_noise_for_epsilon_holds_by_exact_accounting_and_is_the_least(q: float, t: int) -> None:
    one = found(goal(k=1, epsilon=1.0, delta=1e-4), q, t)
    assert one.limited_by == "epsilon"
    assert epsilon_of(spent(one.noise), 1e-4, "pld", "add/remove") <= 1.0
    z = 0.97 * one.noise.noise_multiplier
    less = Noise(noise_multiplier=z, sampling_rate=q, rounds=t, users=200)
    assert epsilon_of(spent(less), 1e-4, "pld", "add/remove") > 1.0


@pytest.mark.parametrize(("q", "t", "z"), [(0.05, 20, 0.8), (0.3, 3, 1.5), (1.0, 2, 3.0)])
def test_the_quick_bound_on_epsilon_is_one_and_a_close_one(q: float, t: int, z: float) -> None:
    noise = Noise(noise_multiplier=z, sampling_rate=q, rounds=t, users=200)
    exact = epsilon_of(spent(noise), 1e-4, "pld", "add/remove")
    assert exact <= epsilon_bound(noise, 1e-4) <= 1.01 * exact


def test_fewer_replicas_need_more_noise_for_the_same_k() -> None:
    few, many = (found(goal(replicas=m), 1.0, 1).noise.noise_multiplier for m in (30, 1000))
    assert few > many


def test_attackers_in_every_round_need_more_noise() -> None:
    drawn, always = (
        found(goal(attendance=attendance), 0.1, 2, top=0.8).noise.noise_multiplier
        for attendance in ("drawn", "every-round")
    )
    assert always > drawn
    # With q = 1 two rounds are one of multiplier z / sqrt(2): Φ(Φ^-1(0.8) - 5 sqrt(2) / z) = 1/2.
    assert always == pytest.approx(5 * 2**0.5 / 0.8416, rel=0.02)


def test_an_unreachable_epsilon_or_k_has_no_option() -> None:
    assert option(goal(epsilon=1e-6, delta=1e-9), 1.0, 100) is None
    assert list(options(goal(k=100_000, threat="inject"), [1.0], [1], top=0.51)) == [None]


def test_every_pair_is_tried_in_the_order_of_rounds_and_rates() -> None:
    pairs = [
        (one.noise.rounds, one.noise.sampling_rate)
        for one in options(goal(k=1), [0.1, 0.05, 0.1], [3, 1], top=0.9)
        if one is not None
    ]
    assert pairs == [(1, 0.05), (1, 0.1), (3, 0.05), (3, 0.1)]


def test_more_noise_needs_a_smaller_vote() -> None:
    needed = [needed_at(goal(), 0.1, 5, z) for z in (1.0, 2.0, 4.0, 8.0)]
    known = [each for each in needed if each is not None]
    assert known == sorted(known, reverse=True)
    assert len(set(known)) == len(known) >= 3


def test_a_search_that_nothing_ends_gives_none() -> None:
    assert least_noise(lambda z: False, 1.0) is None
    assert least_noise(lambda z: z >= 3.0, 100.0) == pytest.approx(3.0, rel=0.011)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: goal(users=0), "number of users must be at least 1, got 0"),
        (lambda: goal(k=0), "k must be at least 1, got 0"),
        (lambda: goal(k=201, threat="compromise"), "k must be at most the number of users, 200, got 201"),
        (lambda: goal(threat="attack"), "threat must be one of"),
        (lambda: goal(epsilon=-1.0), "epsilon must be positive and finite, got -1.0"),
        (lambda: goal(delta=2.0), "delta must be above 0 and below 1, got 2.0"),
        (lambda: goal(share=0.0), "share must be above 0 and at most 1, got 0.0"),
        (lambda: goal(error=1.0), "error must be above 0 and below 1, got 1.0"),
        (lambda: goal(classes=1), "number of classes must be at least 2, got 1"),
        (lambda: goal(replicas=0), "replicas must be at least 1, got 0"),
        (lambda: list(options(goal(), [], [1])), "sampling rates must be at least one, got none"),
        (lambda: list(options(goal(), [1.1], [1])), "sampling rate must be above 0 and at most 1, got 1.1"),
        (lambda: list(options(goal(), [0.1], [0])), "rounds must be at least 1, got 0"),
        (lambda: option(goal(attendance="chosen"), 0.1, 1), "must be certified with q = 1, got q = 0.1"),
    ],
)
def test_goals_that_make_no_sense_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        call()


def test_delta_follows_the_users_if_it_is_not_given() -> None:
    assert goal().own_delta == pytest.approx(200**-1.1)
    assert goal(users=3).own_delta == 0.01
    assert goal(delta=1e-5).own_delta == 1e-5
