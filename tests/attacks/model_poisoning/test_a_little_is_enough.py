from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from torch import Tensor

from fedward.attacks import Attacker
from fedward.attacks.model_poisoning import ALittleIsEnough
from fedward.attacks.model_poisoning.a_little_is_enough import hidden_deviations
from fedward.base.validate import InvalidValue
from fedward.core.types import Knowledge, Sight

RNG = np.random.default_rng(0)
HONEST = RNG.normal(size=(7, 5)).astype(np.float32)
OWN = (2 + 3 * RNG.normal(size=(3, 5))).astype(np.float32)
Z = ALittleIsEnough(deviations=1.5)


def seen(own: Any = OWN, honest: Any = None, *, cohort: int | None = None) -> Sight:
    rows = torch.as_tensor(own)
    return Sight(
        round=0,
        parameters=torch.zeros(rows.shape[1]),
        bounds=(),
        own=dict(enumerate(rows)),
        cohort=None if cohort is None else tuple(range(cohort)),
        honest=None if honest is None else torch.as_tensor(honest),
    )


def sent(part: ALittleIsEnough, sight: Sight, update: Tensor | None = None) -> Tensor:
    row = sight.own[0] if update is None else update
    return part.tamper(row.clone(), sight, np.random.default_rng(0))


def reference(rows: Any, z: float) -> Any:
    wide = np.asarray(rows, dtype=np.float64)
    mean = sum(wide) / len(wide)
    return mean - z * np.sqrt(sum((row - mean) ** 2 for row in wide) / len(wide))


def test_attackers_who_know_their_own_rows_go_by_those() -> None:
    assert np.allclose(sent(Z, seen()).numpy(), reference(OWN, 1.5), rtol=1e-6)


def test_attackers_who_know_the_honest_rows_go_by_those_alone() -> None:
    assert np.allclose(sent(Z, seen(honest=HONEST, cohort=10)).numpy(), reference(HONEST, 1.5), rtol=1e-6)


def test_attackers_who_know_the_cohort_work_out_how_far_they_can_go() -> None:
    row = sent(ALittleIsEnough(), seen(honest=HONEST, cohort=10))
    z = norm.ppf((10 - 3 - 3) / (10 - 3))  # 10 users, 3 attackers: 6 are a majority, 3 are lacking
    assert z > 0.1
    assert np.allclose(row.numpy(), reference(HONEST, z), rtol=1e-6)


def test_attackers_who_know_the_cohort_but_no_rows_of_it_go_by_their_own() -> None:
    z = norm.ppf(4 / 7)
    assert np.allclose(sent(ALittleIsEnough(), seen(cohort=10)).numpy(), reference(OWN, z), rtol=1e-6)


def test_how_far_they_can_go_is_the_papers_quantile() -> None:
    for users in range(1, 60):
        for attackers in range(1, (users + 1) // 2):
            share = (users - attackers - (math.floor(users / 2 + 1) - attackers)) / (users - attackers)
            wanted = max(0.0, norm.ppf(share)) if share > 0 else 0.0
            assert hidden_deviations(users, attackers) == pytest.approx(wanted, abs=1e-9)


def test_more_attackers_can_go_further() -> None:
    reach = [hidden_deviations(50, attackers) for attackers in range(1, 26)]
    assert reach == sorted(reach)
    assert reach[0] == 0
    assert reach[-1] == pytest.approx(norm.ppf(24 / 25))


@pytest.mark.parametrize(("users", "attackers"), [(1, 1), (2, 1), (2, 2), (5, 4), (5, 5), (3, 1)])
def test_where_there_is_nobody_to_hide_among_they_send_the_mean(users: int, attackers: int) -> None:
    assert hidden_deviations(users, attackers) == 0


def test_a_majority_of_attackers_stays_where_one_honest_user_is_beyond_it() -> None:
    assert hidden_deviations(20, 12) == pytest.approx(norm.ppf(7 / 8))


@given(st.integers(1, 40), st.integers(1, 40))
def test_the_reach_is_a_finite_number_for_any_cohort(users: int, attackers: int) -> None:
    assert 0 <= hidden_deviations(max(users, attackers), attackers) < math.inf


def test_all_attackers_send_the_same_bits() -> None:
    sight = seen()
    crew = Attacker(users=frozenset({0, 1, 2}), knowledge="own", rounds=None, data=(), model=(Z,))
    rows = [crew.tamper(u, sight.own[u].clone(), sight, np.random.default_rng(u)) for u in range(3)]
    assert torch.equal(rows[0], rows[1])
    assert torch.equal(rows[0], rows[2])
    assert not torch.equal(rows[0], sight.own[0])


def test_one_row_shows_no_deviation_and_is_sent_as_it_is() -> None:
    for part, sight in ((Z, seen(OWN[:1])), (ALittleIsEnough(), seen(OWN[:1], cohort=9))):
        assert torch.equal(sent(part, sight), torch.as_tensor(OWN[0]))


def test_a_sight_without_any_row_leaves_the_update_alone() -> None:
    sight = Sight(round=0, parameters=torch.zeros(5), bounds=(), own={})
    update = torch.as_tensor(OWN[1])
    assert torch.equal(sent(Z, sight, update), update)


def test_a_cohort_of_attackers_only_goes_by_its_own_rows() -> None:
    sight = seen(honest=np.zeros((0, 5), dtype=np.float32), cohort=3)
    assert np.allclose(sent(Z, sight).numpy(), reference(OWN, 1.5), rtol=1e-6)
    assert np.allclose(sent(ALittleIsEnough(), sight).numpy(), reference(OWN, 0.0), rtol=1e-6)


def test_rows_that_the_server_will_reject_do_not_count() -> None:
    spoilt = np.vstack([HONEST, np.full((1, 5), np.inf, dtype=np.float32)])
    spoilt[-1, 0] = np.nan
    wanted = sent(Z, seen(honest=HONEST, cohort=10))
    assert torch.equal(sent(Z, seen(honest=spoilt, cohort=11)), wanted)
    broken = np.vstack([OWN, np.full((1, 5), np.nan, dtype=np.float32)])
    assert torch.equal(sent(Z, seen(broken)), sent(Z, seen()))


def test_rows_near_the_largest_number_do_not_overflow_on_the_way() -> None:
    rows = np.array([[3e38], [3e38], [3e38], [-3e38]], dtype=np.float32)
    wanted = reference(rows, 0.5)
    assert 1e37 < float(wanted[0]) < 1e38
    assert np.allclose(sent(ALittleIsEnough(deviations=0.5), seen(rows)).numpy(), wanted, rtol=1e-6)
    assert torch.equal(sent(Z, seen(np.zeros((3, 5), dtype=np.float32))), torch.zeros(5))


def test_what_it_needs_to_know_depends_on_what_it_was_told() -> None:
    wanted: list[Knowledge] = ["cohort", "own", "own"]
    parts = [ALittleIsEnough(), ALittleIsEnough(deviations=0.0), Z]
    assert [part.needs for part in parts] == wanted
    with pytest.raises(InvalidValue, match="number of deviations, or attackers that know the cohort"):
        sent(ALittleIsEnough(), seen())


@pytest.mark.parametrize("deviations", [-0.1, math.nan, math.inf, True, "1"])
def test_a_number_of_deviations_below_zero_is_refused(deviations: Any) -> None:
    with pytest.raises(InvalidValue, match="number of deviations must be"):
        ALittleIsEnough(deviations=deviations)
