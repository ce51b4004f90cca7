from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.mechanisms.banded_strategy import Workload, optimise_bands, root_mean_error
from fedward.mechanisms.buffered_strategy import Buffers, buffered_error, optimise_buffers
from fedward.privacy.participation import Participation

ROUNDS = 9


def matrix(buffers: Buffers, rounds: int = ROUNDS) -> np.ndarray:
    c = buffers.coefficients(rounds)
    return np.array([[c[t - s] if t >= s else 0.0 for s in range(rounds)] for t in range(rounds)])


def patterns(schema: Participation, rounds: int = ROUNDS) -> list[tuple[int, ...]]:
    return [
        chosen
        for count in range(1, schema.most + 1)
        for chosen in itertools.combinations(range(rounds), count)
        if all(b - a >= schema.separation for a, b in itertools.pairwise(chosen))
    ]


@given(
    shares=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4),
    decays=st.lists(st.floats(0.0, 0.999), min_size=4, max_size=4, unique=True),
    most=st.integers(1, 4),
    separation=st.integers(1, 5),
)
def test_no_pattern_of_participation_moves_more_than_the_first_rounds_do(
    shares: list[float], decays: list[float], most: int, separation: int
) -> None:
    """Brute force over all patterns; of rows of any direction the worst are those that all point one way."""
    total = max(1.0, math.fsum(shares)) * (1 + 1e-12)
    buffers = Buffers(weights=tuple(w / total for w in shares), decays=tuple(decays[: len(shares)]))
    schema, dense = Participation(most=most, separation=separation), matrix(buffers)
    worst = 0.0
    for chosen in patterns(schema):
        columns = dense[:, list(chosen)]
        worst = max(worst, math.sqrt(float(np.abs(columns.T @ columns).sum())))
    declared = buffers.sensitivity(ROUNDS, schema)
    assert worst <= declared <= worst * (1 + 1e-8)


@given(decays=st.lists(st.floats(0.0, 0.99), min_size=3, max_size=3, unique=True))
def test_solving_is_the_inverse_of_multiplying(decays: list[float]) -> None:
    buffers, x = Buffers(weights=(0.3, 0.2, 0.4), decays=tuple(decays)), np.arange(1.0, 31.0)
    assert buffers.solve(buffers.times(x)).tolist() == pytest.approx(x.tolist(), rel=1e-6)
    assert buffers.times(x)[:ROUNDS].tolist() == pytest.approx((matrix(buffers) @ x[:ROUNDS]).tolist())


@pytest.mark.parametrize(("momentum", "decay"), [(0.0, 1.0), (0.9, 0.97)])
def test_the_error_is_that_of_the_dense_matrices(momentum: float, decay: float) -> None:
    workload, schema = (
        Workload(rounds=20, momentum=momentum, decay=decay),
        Participation(most=2, separation=9),
    )
    buffers = Buffers(weights=(0.5, 0.2), decays=(0.9, 0.4))
    dense = workload.matrix() @ np.linalg.inv(matrix(buffers, 20))
    error = math.sqrt(float((dense**2).sum()) / 20) * buffers.sensitivity(20, schema) / math.sqrt(2)
    assert buffered_error(workload, schema, buffers) == pytest.approx(error, rel=1e-9)


def test_more_buffers_are_better_and_come_near_the_best_toeplitz_matrix() -> None:
    workload, schema = Workload(rounds=100), Participation(most=1, separation=100)
    errors = [buffered_error(workload, schema, optimise_buffers(workload, schema, n)) for n in (1, 2, 3)]
    assert errors == sorted(errors, reverse=True)
    # One participation, as many bands as rounds: the best that any Toeplitz matrix can do.
    best = root_mean_error(workload, optimise_bands(workload, 100))
    assert best * (1 - 1e-9) <= errors[-1] <= best * 1.005
    given_decays = optimise_buffers(workload, schema, 2, (0.95, 0.5))
    assert given_decays.decays == (0.95, 0.5)
    assert errors[1] <= buffered_error(workload, schema, given_decays) < errors[0] * 1.1


def test_coefficients_that_would_grow_are_refused() -> None:
    with pytest.raises(InvalidValue, match="must add up to at most 1, or coefficients grow"):
        Buffers(weights=(0.7, 0.7), decays=(0.5, 0.4))
    with pytest.raises(InvalidValue, match="decay of a buffer must be"):
        Buffers(weights=(0.7,), decays=(1.0,))
    with pytest.raises(InvalidValue, match="decays must differ"):
        Buffers(weights=(0.3, 0.3), decays=(0.5, 0.5))
