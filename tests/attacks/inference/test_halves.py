from __future__ import annotations

import numpy as np
import pytest
import torch

from fedward import InProcess
from fedward.attacks.inference.halves import Half, HalfBackend, Halves
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.parameters import ParameterSpec
from fedward.core.round import plan_round
from fedward.core.train import train
from support import flat_inputs, tiny_algorithm, tiny_federation, tiny_model


def test_every_user_keeps_one_example_that_nothing_is_asked_about() -> None:
    federation = tiny_federation(num_users=10, per_user=4)
    halves = Halves(unit="example", seed=3)
    candidates = halves.candidates(federation)
    assert candidates.reshape(10, 4).sum(axis=1).tolist() == [3] * 10
    for number in range(6):
        assert halves.target(federation, number)[~candidates].all()
        assert halves.shadow(federation, number)[~candidates].all()
    other = Halves(unit="example", seed=4).candidates(federation)
    assert not np.array_equal(candidates, other)


def test_examples_are_in_by_independent_fair_coins() -> None:
    federation = tiny_federation(num_users=4, per_user=11)
    halves = Halves(unit="example", seed=0)
    candidates = halves.candidates(federation)
    drawn = np.stack([halves.target(federation, number)[candidates] for number in range(1000)])
    assert abs(drawn.mean(axis=0) - 0.5).max() < 0.08  # five standard deviations
    together = np.corrcoef(drawn.T) - np.eye(40)
    assert abs(together).max() < 0.16
    assert 8 < drawn.sum(axis=1).var() < 12.5  # 40 coins have variance 10: no fixed number is in


def test_a_pair_of_shadows_sees_every_record_once() -> None:
    federation = tiny_federation(num_users=30, per_user=3)
    for unit in ("example", "user"):
        halves = Halves(unit=unit, seed=1)
        candidates = halves.candidates(federation)
        first, second, third = (halves.shadow(federation, number)[candidates] for number in range(3))
        assert np.array_equal(first, ~second)
        assert not np.array_equal(first, third)
        assert not np.array_equal(first, halves.target(federation, 0)[candidates])


def test_exact_halves_keep_the_number_of_users() -> None:
    federation = tiny_federation(num_users=31, per_user=2)
    halves = Halves(unit="user", seed=1, exact=True)
    assert [int(halves.target(federation, number).sum()) for number in range(5)] == [15] * 5
    assert len({halves.target(federation, number).tobytes() for number in range(5)}) == 5


def test_a_half_of_the_users_has_their_data_and_names() -> None:
    federation = tiny_federation(num_users=5, per_user=3)
    half = Half.of(federation, "user", np.array([False, True, False, False, True]))
    assert half.users.tolist() == half.federation.names.tolist() == [1, 4]
    for number, user in enumerate(half.users.tolist()):
        assert torch.equal(flat_inputs(half.federation.user(number)), flat_inputs(federation.user(user)))
        assert torch.equal(half.federation.user(number).y, federation.user(user).y)
    assert half.federation.test is federation.test


def test_a_half_of_the_examples_leaves_users_without_any_out() -> None:
    federation = tiny_federation(num_users=3, per_user=2)
    half = Half.of(federation, "example", np.array([True, True, False, False, False, True]))
    assert half.users.tolist() == [0, 2]
    assert half.federation.sizes.tolist() == [2, 1]
    assert torch.equal(flat_inputs(half.federation.user(1)), flat_inputs(federation.examples)[5:])


@pytest.mark.parametrize("unit", ["example", "user"])
def test_a_backend_of_the_whole_trains_a_half_to_the_same_bits(unit: str) -> None:
    federation, model = tiny_federation(num_users=20, per_user=4), tiny_model()
    halves = Halves(unit=unit, seed=5)  # type: ignore[arg-type]
    half = Half.of(federation, unit, halves.target(federation, 0))  # type: ignore[arg-type]
    algorithm = tiny_algorithm(20)
    ends = []
    for backend in (InProcess(model, half.federation), HalfBackend(InProcess(model, federation), half)):
        for state, _ in train(algorithm, model, half.federation, backend, rounds=3, seed=2):
            pass
        ends.append(state.parameters)
    assert torch.equal(*ends)


def test_a_users_half_stays_the_same_object_so_that_workers_get_it_once() -> None:
    federation, model = tiny_federation(num_users=20, per_user=4), tiny_model()
    inside = Halves(unit="example", seed=5).target(federation, 0)
    half = Half.of(federation, "example", inside)
    seen = []

    class Watching(InProcess):
        def train(self, jobs):  # type: ignore[no-untyped-def]
            kept = list(jobs)
            seen.append({job.user: job.examples for job in kept})
            return super().train(kept)

    backend = HalfBackend(Watching(model, federation), half)
    algorithm = tiny_algorithm(20)
    state = algorithm.init(ParameterSpec.of(model).flatten(model))
    jobs = plan_round(algorithm, state, half.federation.roster, None, 1).jobs
    for _ in range(2):
        rows = list(backend.train(jobs))
        assert [row.user for row in rows] == [job.user for job in jobs]
    assert seen[0]
    assert all(seen[0][user] is seen[1][user] for user in seen[0])
    assert all(
        torch.equal(flat_inputs(seen[0][user]), flat_inputs(half.federation.user(user))) for user in seen[0]
    )


def test_errors_are_told_in_words() -> None:
    federation = tiny_federation(num_users=5, per_user=3)
    with pytest.raises(InvalidValue, match="at least 20 users to ask about, got 5"):
        Halves(unit="user", seed=0).candidates(federation)
    with pytest.raises(InvalidValue, match="besides one of each user that is always trained on, got 10"):
        Halves(unit="example", seed=0).candidates(federation)
    with pytest.raises(InvalidValue, match="exact halves are of users"):
        Halves(unit="example", seed=0, exact=True)
    with pytest.raises(InvalidValue, match="unit must be one of"):
        Halves(unit="round", seed=0)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="must be one for each of 5 users, got shape \\(4,\\)"):
        Half.of(federation, "user", np.ones(4, dtype=np.bool_))
    with pytest.raises(InvalidType, match="must be true or false"):
        Half.of(federation, "user", np.ones(5))  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="at least one user, got 0"):
        Half.of(federation, "user", np.zeros(5, dtype=np.bool_))
