from __future__ import annotations

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent

from fedward.auditing.chosen_test import choose_test, exact_scores, separation
from fedward.auditing.measured_bounds import measure
from fedward.auditing.noise_family import NoiseFamily
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.seen_trainings import SeenTrainings
from fedward.auditing.training_scores import learn_scores
from fedward.base.validate import InvalidValue

LAW = RoundLaw(rate=1.0, times=1, std=1.0)
FAMILY = NoiseFamily.of([(GaussianDpEvent(1.0), 2)], "add/remove", 1e-5)


def seen(count: int, seed: int, shift: float = 1.0, wider: float = 1.0) -> SeenTrainings:
    """Trainings of two rounds whose direction is moved by the canary, and whose noise is widened by it."""
    rng, inside = np.random.default_rng(seed), np.arange(count) % 2 == 0
    direction = rng.standard_normal((count, 2)) + shift * inside[:, None]
    level = 0.1 * rng.standard_normal((count, 2)) + (wider - 1) * inside[:, None]
    return SeenTrainings(inside=inside, tables={"direction": direction, "level": level})


def chosen_on(trainings: SeenTrainings, count: int) -> tuple[str, float]:
    half = len(trainings) // 4
    scorers = learn_scores(trainings.part(0, half), "direction", (LAW, LAW))
    test = choose_test(scorers, trainings.part(half, 2 * half), FAMILY, count - 2 * half)
    return test.scorer.name, measure(test, trainings.part(2 * half, count), FAMILY, 0.05).by_family


def test_a_sound_mechanism_is_judged_by_the_exact_ratio() -> None:
    name, bound = chosen_on(seen(2000, 0), 2000)
    assert name == "exact likelihood ratio"
    assert 0.7 * FAMILY.epsilon(1.0) < bound < FAMILY.epsilon(1.0)


def test_a_leak_that_no_event_speaks_of_is_learned() -> None:
    name, bound = chosen_on(seen(1000, 1, wider=1.5), 1000)
    assert "level" in name or "all" in name
    assert bound > FAMILY.epsilon(1.0)


def test_nothing_is_found_where_nothing_is() -> None:
    assert chosen_on(seen(1000, 2, shift=0.0), 1000)[1] == 0.0


def test_exact_scores_add_up_over_rounds() -> None:
    table = np.array([[0.5, 1.5], [0.5, 2.5]])
    assert exact_scores((LAW, LAW), table).tolist() == [0.0, 3.0]
    assert exact_scores((), table).tolist() == [1.0, 4.0]


def test_separation_is_what_two_normal_laws_are_apart() -> None:
    assert separation(0.5, 0.5) == 0.0


def test_tables_have_a_row_for_each_training() -> None:
    with pytest.raises(InvalidValue, match="each of 3"):
        SeenTrainings(inside=np.ones(3, dtype=bool), tables={"direction": np.zeros((2, 1))})
