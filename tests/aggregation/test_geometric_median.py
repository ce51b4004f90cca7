from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import Tensor

from aggregation.by_definition import KINDS, combined, some_rows
from fedward.aggregation import CoordinateMedian, GeometricMedian
from fedward.base.validate import InvalidValue

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
FINE = GeometricMedian(tolerance=1e-11, most_steps=2000)


def array(rows: list[Tensor]) -> Array:
    return torch.stack(rows).double().numpy()


def total_distance(rows: Array, point: Array) -> float:
    return math.fsum(math.dist(row, point) for row in rows)


def by_scipy(rows: Array) -> Array:
    """The best point of a general-purpose solver from several starts, and of all rows."""
    starts = [rows.mean(0), np.median(rows, 0), *(rows[:3] + 0.01)]
    found = [
        minimize(lambda y: total_distance(rows, y), start, method="Nelder-Mead", options=PRECISE).x
        for start in starts
    ]
    best: Array = min([*found, *rows], key=lambda point: total_distance(rows, point))
    return best


PRECISE = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 4000, "maxfev": 4000}


def shortest_subgradient(rows: Array, point: Array) -> float:
    """0 at a minimum and only there; a row itself pulls with any strength up to how often it is there."""
    here = (rows == point).all(1)
    away = rows[~here] - point
    pull = (away / np.linalg.norm(away, axis=1, keepdims=True)).sum(0)
    return max(0.0, float(np.linalg.norm(pull)) - int(here.sum()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
def test_no_point_of_an_independent_solver_is_nearer_to_all_rows(kind: str, n: int) -> None:
    for seed in range(2):
        rows = some_rows(kind, n, 1 + seed, seed)
        found, points = combined(FINE, rows).numpy(), array(rows)
        best = total_distance(points, by_scipy(points))
        assert total_distance(points, found) <= best * (1 + 1e-10)


@pytest.mark.parametrize("n", [3, 5, 6, 9])
def test_it_is_the_point_of_an_independent_solver(n: int) -> None:
    for seed in range(3):
        rows = some_rows("normal", n, 2, seed)
        assert combined(FINE, rows).numpy() == pytest.approx(by_scipy(array(rows)), abs=1e-6)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "huge"])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-6])
def test_it_stops_where_the_subgradient_is_as_short_as_it_says(kind: str, tolerance: float) -> None:
    rule = GeometricMedian(tolerance=tolerance, most_steps=100_000)
    for seed in range(7):
        rows = some_rows(kind, 3 + seed, 3, seed)
        found = combined(rule, rows).numpy()
        assert shortest_subgradient(array(rows), found) <= tolerance * len(rows) * (1 + 1e-9)
        # And what that proves: nobody is nearer by more than 2 tolerance F.
        distance = total_distance(array(rows), found)
        least = total_distance(array(rows), combined(FINE, rows).numpy())
        assert distance - least <= 2 * tolerance * distance


def test_three_corners_of_a_triangle_have_the_fermat_point() -> None:
    root = math.sqrt(3)
    rows = [torch.tensor(corner) for corner in ([0.0, 2.0], [-root, -1.0], [root, -1.0])]
    assert combined(FINE, rows).tolist() == pytest.approx([0.0, 0.0], abs=1e-7)


def test_a_row_that_is_the_median_is_returned_to_the_last_bit() -> None:
    centre = torch.tensor([0.1, -0.7])
    cross = [centre + torch.tensor(arm) for arm in ([1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0])]
    assert torch.equal(combined(GeometricMedian(), [*cross, centre]), centre.double())
    # An angle of more than 120 degrees: the row at its top.
    wide = [torch.tensor(corner) for corner in ([-10.0, 0.0], [0.0, 1.0], [10.0, 0.0])]
    assert torch.equal(combined(GeometricMedian(), wide), wide[1].double())


def test_more_than_half_of_equal_rows_are_the_median_wherever_the_others_are() -> None:
    for seed in range(10):
        others = some_rows("huge", 4, 3, seed)
        same = torch.full((3,), 0.3)
        assert torch.equal(combined(GeometricMedian(), [*others, *[same] * 4]), same.double())


def test_a_step_from_a_row_that_is_not_the_median_leaves_it() -> None:
    """Weiszfeld's own iteration would divide by zero here, or stay."""
    rows = [torch.tensor(corner) for corner in ([0.0, 0.0], [0.0, 0.0], [4.0, 1.0], [4.0, -1.0], [5.0, 0.0])]
    points = array(rows)
    found = combined(FINE, rows).numpy()
    assert min(math.dist(found, row) for row in points) > 1e-3
    assert shortest_subgradient(points, found) < 1e-9
    step = FINE._step(rows, torch.zeros(2, dtype=torch.float64))
    assert step is not None
    assert total_distance(points, step.numpy()) < total_distance(points, np.zeros(2))


def test_a_row_holds_back_the_step_that_leaves_it() -> None:
    """Two rows pull at the third with hardly more than its own strength: a whole step would go too far."""
    rows = [torch.tensor(corner) for corner in ([0.0, 0.0], [5.25, 8.51], [5.25, -8.51])]
    points, origin = array(rows), torch.zeros(2, dtype=torch.float64)
    step = FINE._step(rows, origin)
    assert step is not None
    assert total_distance(points, step.numpy()) < total_distance(points, origin.numpy())
    undamped = step.numpy() / (1 - 1 / 1.05)
    assert total_distance(points, undamped) > total_distance(points, origin.numpy())


def test_every_step_brings_it_nearer() -> None:
    rows = some_rows("normal", 7, 4, 3)
    distances = []
    for steps in range(1, 12):
        found = combined(GeometricMedian(tolerance=1e-15, most_steps=steps), rows)
        distances.append(total_distance(array(rows), found.numpy()))
    assert distances == sorted(distances, reverse=True)
    assert distances[0] > distances[-1]


def test_on_a_line_it_is_a_row_in_the_middle() -> None:
    for n in (2, 3, 6, 7):
        for seed in range(5):
            rows = some_rows("collinear", n, 3, seed)
            found = combined(GeometricMedian(), rows)
            assert any(torch.equal(found, row.double()) for row in rows)
            least = total_distance(array(rows), combined(CoordinateMedian(), rows).numpy())
            assert total_distance(array(rows), found.numpy()) == pytest.approx(least)


def test_the_order_of_rows_does_not_matter_beyond_rounding() -> None:
    rows = some_rows("two clusters", 9, 4, 0)
    for seed in range(5):
        order = torch.randperm(9, generator=torch.Generator().manual_seed(seed)).tolist()
        torch.testing.assert_close(
            combined(FINE, [rows[i] for i in order]), combined(FINE, rows), rtol=1e-9, atol=1e-9
        )


def test_it_moves_scales_and_turns_with_the_rows() -> None:
    angle = torch.tensor(
        [[math.cos(1.0), -math.sin(1.0)], [math.sin(1.0), math.cos(1.0)]], dtype=torch.float64
    )
    for seed in range(5):
        rows = [row.double() for row in some_rows("normal", 6, 2, seed)]
        moved = [-1e6 * (angle @ row) + 3e6 for row in rows]
        wanted = -1e6 * (angle @ combined(FINE, rows)) + 3e6
        torch.testing.assert_close(combined(FINE, moved), wanted, rtol=0, atol=1e-2)


def test_fewer_than_half_of_the_rows_cannot_carry_it_away() -> None:
    for seed in range(10):
        honest = some_rows("normal", 5, 3, seed)
        bad = [torch.full((3,), 1e37 * (i + 1)) for i in range(4)]
        found = combined(GeometricMedian(), bad + honest)
        spread = max(math.dist(a, b) for a in array(honest) for b in array(honest))
        # Known bound for b bad of n: 2 (n - b) / (n - 2b) times the honest rows' distance from any point.
        assert min(math.dist(found.tolist(), row) for row in array(honest)) <= 2 * 5 / (9 - 8) * spread


def test_huge_rows_of_a_model_in_double_precision_neither_overflow_nor_drown_the_others() -> None:
    most = torch.finfo(torch.float64).max
    huge = list(torch.tensor([[most, most], [-most, -most], [most, -most]], dtype=torch.float64))
    small = list(torch.tensor([[0.0, 2.0], [-1.0, -1.0], [1.0, -1.0], [0.3, 0.3]], dtype=torch.float64))
    assert bool(torch.isfinite(combined(GeometricMedian(), huge)).all())
    # Two rows in opposite directions pull equally from everywhere near the middle.
    torch.testing.assert_close(combined(FINE, huge[:2] + small), combined(FINE, small), rtol=0, atol=1e-8)


@pytest.mark.parametrize("tolerance", [0.0, -1e-6, 1.0, math.nan])
def test_a_tolerance_must_lie_between_0_and_1(tolerance: float) -> None:
    with pytest.raises(InvalidValue, match="tolerance must be above 0 and below 1"):
        GeometricMedian(tolerance=tolerance)


def test_a_number_of_steps_must_be_at_least_1() -> None:
    with pytest.raises(InvalidValue, match="most steps must be at least 1, got 0"):
        GeometricMedian(most_steps=0)


def test_one_row_is_enough() -> None:
    row = torch.tensor([0.1, 0.2])
    assert torch.equal(combined(GeometricMedian(), [row]), row.double())
    assert GeometricMedian().least_rows == 1
