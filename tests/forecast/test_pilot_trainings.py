from __future__ import annotations

from dataclasses import replace

import pytest

import fedward
from api.five_rounds import TABLES
from fedward.backends.compute import IN_PROCESS
from fedward.certificates.pilot import Noise
from fedward.certificates.plan_goal import Goal
from fedward.config.overrides import copy_tables, put
from fedward.forecast.pilot_trainings import changes_for, open_pilot
from fedward.forecast.plan import Plan, make_plan
from fedward.studies.progress import Progress

NOISE = Noise(noise_multiplier=2.0, sampling_rate=0.1, rounds=5, users=100)


def test_the_changes_make_it_this_training() -> None:
    for noise in (NOISE, replace(NOISE, sampling_rate=1.0, rounds=2, noise_multiplier=3.5)):
        content = copy_tables(TABLES)
        for key, value in changes_for(noise).items():
            put(content, key, value)
        found = fedward.epsilon(content)
        alone = fedward.epsilon(
            noise_multiplier=noise.noise_multiplier,
            sampling_rate=noise.sampling_rate,
            rounds=noise.rounds,
            delta=1e-3,
        )
        assert found.epsilon == alone.epsilon


def test_a_pilot_training_is_a_replica_like_any_other_and_fresh_ones_differ() -> None:
    with open_pilot(TABLES, "experiment", None, IN_PROCESS) as trainings:
        assert (trainings.users, trainings.clip_bound) == (100, 1.0)
        one, again = (trainings.train(NOISE, 4) for _ in range(2))
        fresh = trainings.train(NOISE, 4, first=100)
        assert one.expected.tolist() == again.expected.tolist() != fresh.expected.tolist()
        assert one.origin == "file"


def test_more_replicas_and_more_rounds_are_expected_to_take_longer() -> None:
    with open_pilot(TABLES, "experiment", None, IN_PROCESS) as trainings:
        few = trainings.seconds(NOISE, 10)
        many = trainings.seconds(NOISE, 1000)
        longer = trainings.seconds(replace(NOISE, rounds=50), 10)
    assert few is not None
    assert many is not None
    assert longer is not None
    assert few < many
    assert few < longer
    assert few[0] < few[1]


def test_a_budget_in_the_file_does_not_end_pilot_trainings() -> None:
    content = TABLES | {"privacy": {"users": 100, "delta": 1e-3, "budget": 5.0}}
    with open_pilot(content, "experiment", None, IN_PROCESS) as trainings:
        assert trainings.train(NOISE, 4).replicas == 4
    assert content["privacy"]["budget"] == 5.0


@pytest.mark.parametrize("users", [50, 100, 400])
def test_noise_of_a_pilot_with_other_users_is_that_on_the_mean(users: int) -> None:
    goal = Goal(users=users, k=1, epsilon=4.0, classes=3)
    with open_pilot(TABLES, "experiment", None, IN_PROCESS) as trainings:
        steps = make_plan(goal, sampling_rates=[1.0], rounds=[1], pilot=trainings, seconds=1e6)
        seen: list[Progress] = []
        while True:
            try:
                seen.append(next(steps))
            except StopIteration as end:
                plan: Plan = end.value
                break
    assert plan.pilot is not None
    assert plan.pilot.noise.users == 100
    assert plan.recommendation is not None
    assert plan.recommendation.prospect.option.noise.users == users
    # What is said on the way rises, and ends before the end.
    done = [step.done for step in seen]
    assert done == sorted(done)
    assert max(done) <= seen[0].total
    assert all(step.name for step in seen)
