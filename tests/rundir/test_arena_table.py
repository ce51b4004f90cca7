from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fedward.privacy import Guarantee
from fedward.rundir.arena_record import ArenaAbout, AttackAbout, DefenceAbout
from fedward.rundir.arena_table import Key, Seeded, arena_table, worst
from fedward.rundir.results import Mean, TrainingResult

PRIVATE = Guarantee(
    epsilon=2.0,
    delta=1e-3,
    unit="user",
    adjacency="add/remove",
    sampling="everyone",
    accountant="rdp",
    noise_source="seeded",
    rounds=2,
)
NONE = replace(PRIVATE, epsilon=math.inf, reason="no noise is added")
ABOUT = ArenaAbout(
    attacks=[AttackAbout(name="no attack"), AttackAbout(name="a"), AttackAbout(name="b", adapts=True)],
    defences=[DefenceAbout(name="no defence", preset="fedavg"), DefenceAbout(name="d", preset="krum")],
    data=[""],
    seeds=[1, 2, 3],
    refused=[],
)


def seeded(accuracy: Sequence[float], success: Sequence[float | None] | None = None) -> Seeded:
    results = {}
    for seed, value in enumerate(accuracy, 1):
        hit = None if success is None else success[seed - 1]
        told: dict[str, Any] = {} if hit is None else {"attack_success": hit, "attack_cost": 1.0}
        results[seed] = TrainingResult(
            rounds=2,
            stopped_by_budget=False,
            guarantee=NONE,
            statement=str(NONE),
            accuracy=value,
            loss=1.0,
            **told,
        )
    return Seeded(names={seed: f"run-{seed}" for seed in results}, results=results)


def whole() -> dict[Key, Seeded]:
    return {
        ("", "no defence", "no attack"): seeded([0.90, 0.92, 0.94]),
        ("", "no defence", "a"): seeded([0.10, 0.12, 0.11]),
        ("", "no defence", "b"): seeded([0.80, 0.82, 0.81], [0.9, 1.0, 0.95]),
        ("", "d", "no attack"): seeded([0.88, 0.91, 0.93]),
        ("", "d", "a"): seeded([0.85, 0.86, 0.87]),
        ("", "d", "b"): seeded([0.84, 0.86, 0.88], [0.0, 0.02, 0.01]),
    }


def test_what_an_attack_takes_is_compared_seed_by_seed() -> None:
    cells = {(cell.defence, cell.attack): cell for cell in arena_table(ABOUT, whole()).cells}
    found = cells["d", "a"].lost
    assert found == Mean.of([0.88 - 0.85, 0.91 - 0.86, 0.93 - 0.87], least=-1.0, most=1.0)
    behind = cells["d", "no attack"].behind_plain
    # The same seeds: far closer than two means with intervals of their own.
    assert behind is not None
    assert behind.value == pytest.approx((0.02 + 0.01 + 0.01) / 3)
    assert behind.low is not None
    assert behind.low > -0.01
    assert cells["d", "no attack"].lost == Mean(mean=0.0, low=0.0, high=0.0)
    assert cells["d", "a"].attack_success is None


def test_the_worst_attack_has_an_interval_that_holds_for_having_chosen_it() -> None:
    standing = arena_table(ABOUT, whole()).standings[1]
    assert standing.worst_accuracy is not None
    assert standing.worst_accuracy.attack == "a"
    ends = []
    for values in ([0.85, 0.86, 0.87], [0.84, 0.86, 0.88]):
        width = stats.t.ppf(1 - 0.05 / 4, 2) * np.std(values, ddof=1) / 3**0.5
        ends.append((np.mean(values) - width, min(1.0, np.mean(values) + width)))
    assert standing.worst_accuracy.low == pytest.approx(min(low for low, _ in ends))
    assert standing.worst_accuracy.high == pytest.approx(min(high for _, high in ends))
    assert standing.worst_success is not None
    assert standing.worst_success.attack == "b"
    assert standing.worst_success.value == pytest.approx(0.01)


def test_the_interval_of_the_worst_case_covers_it_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    means, missed, trials = (0.70, 0.71, 0.72, 0.90), 0, 400
    for _ in range(trials):
        met = {str(n): seeded(list(rng.normal(mean, 0.03, 4))) for n, mean in enumerate(means)}
        found = worst(met, "accuracy")
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        missed += not found.low <= min(means) <= found.high
    assert missed / trials < 0.05 + 3 * (0.05 * 0.95 / trials) ** 0.5


def ranks(found: dict[Key, Seeded]) -> list[tuple[int | None, int | None]]:
    known = [each.worst_accuracy for each in arena_table(ABOUT, found).standings]
    return [(each.first_rank, each.last_rank) for each in known if each is not None]


def test_defences_whose_intervals_overlap_share_their_ranks() -> None:
    assert ranks(whole()) == [(2, 2), (1, 1)]
    assert ranks(whole() | {("", "d", "a"): seeded([0.10, 0.13, 0.12])}) == [(1, 2), (1, 2)]


def test_a_defence_that_did_not_meet_every_attack_is_not_ranked() -> None:
    found = whole()
    del found["", "d", "a"]
    first, second = arena_table(ABOUT, found).standings
    assert (second.tried, second.attacks) == (1, 2)
    assert second.worst_accuracy is not None
    assert second.worst_accuracy.first_rank is None
    assert first.worst_accuracy is not None
    assert (first.worst_accuracy.first_rank, first.worst_accuracy.last_rank) == (1, 1)


def test_it_is_known_whether_an_attack_knew_the_defence() -> None:
    found = whole()
    del found["", "d", "b"]
    assert [each.adaptively for each in arena_table(ABOUT, found).standings] == [True, False]


def test_of_one_seed_there_is_no_interval_and_no_rank() -> None:
    one = {
        key: Seeded(names={1: each.names[1]}, results={1: each.results[1]}) for key, each in whole().items()
    }
    for standing in arena_table(ABOUT, one).standings:
        assert standing.worst_accuracy is not None
        assert standing.worst_accuracy.low is None
        assert standing.worst_accuracy.first_rank is None


def test_an_epsilon_that_attackers_take_away_is_said_under_which_attack() -> None:
    found = whole()
    own = found["", "d", "no attack"]
    results = {seed: each.model_copy(update={"guarantee": PRIVATE}) for seed, each in own.results.items()}
    found["", "d", "no attack"] = Seeded(names=own.names, results=results)
    standing = arena_table(ABOUT, found).standings[1]
    assert standing.epsilon == 2.0
    assert standing.void_under == ["a", "b"]
