"""Passes over long vectors piece by piece: the numbers of whole passes, and bounds kept at every edge."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from fedward.aggregation import Mean, WeightedMean
from fedward.base.normal_parts import PART
from fedward.base.randomness import stream
from fedward.base.validate import InvalidValue
from fedward.clipping.norms import FlatNorm, PerLayerNorm, clip_to, l2_norm
from fedward.core.grid import Grid
from fedward.core.pieces import PIECE, pieces
from fedward.core.types import Sensitivity
from fedward.mechanisms import GaussianNoise
from fedward.server.move import move_parameters

SIZES = (1, PIECE, PIECE + 1, 2 * PIECE + 7)


def row_of(size: int, seed: int = 1, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def exact_norm(row: Tensor) -> float:
    """The norm by exactly rounded sums: no route of the code's."""
    return math.sqrt(math.fsum(row.double().square().tolist()))


@pytest.mark.parametrize("size", SIZES)
def test_pieces_are_views_that_lie_side_by_side_and_leave_nothing_out(size: int) -> None:
    row, other = row_of(size), torch.zeros(size)
    for piece, place in pieces(row, other):
        assert 0 < len(piece) <= PIECE
        place.copy_(piece)
    assert torch.equal(row, other)


def test_vectors_of_different_sizes_have_no_pieces_side_by_side() -> None:
    with pytest.raises(ValueError, match="shorter"):
        list(pieces(torch.zeros(3 * PIECE), torch.zeros(2 * PIECE)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", SIZES)
def test_a_long_row_is_clipped_to_its_bound_and_reaches_it(size: int, dtype: torch.dtype) -> None:
    row, norm = row_of(size, dtype=dtype), FlatNorm()
    assert norm.measure(row)[0] == pytest.approx(exact_norm(row), rel=1e-14)
    clipped = norm.clip(row, norm.measure(row), (0.1 * exact_norm(row),))
    assert 1 - 2e-6 < exact_norm(clipped) / (0.1 * exact_norm(row)) <= 1 + 1e-15
    assert torch.allclose(clipped, 0.1 * row, rtol=1e-5, atol=0)


@pytest.mark.parametrize("place", [0, PIECE - 1, PIECE, 2 * PIECE])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_one_number_that_is_not_finite_makes_zeros_of_a_long_row_wherever_it_lies(
    place: int, value: float
) -> None:
    row = row_of(2 * PIECE + 1)
    row[place] = value
    assert not math.isfinite(l2_norm(row))
    assert not bool(clip_to(row, l2_norm(row), 1.0).any())


def test_an_infinity_beside_a_nan_in_another_piece_does_not_hide_it() -> None:
    row = row_of(2 * PIECE)
    row[0], row[-1] = math.inf, math.nan
    assert math.isnan(l2_norm(row))


@pytest.mark.parametrize("value", [3e38, 1e-45, 1e-38])
def test_long_rows_of_huge_and_of_subnormal_numbers_keep_to_their_bound(value: float) -> None:
    row = torch.full((2 * PIECE + 1,), value)
    norm = l2_norm(row)
    assert norm == pytest.approx(float(row[0]) * math.sqrt(len(row)), rel=1e-12)
    for bound in (norm / 3, norm / 1e4, 1e-40):
        assert exact_norm(clip_to(row, norm, bound)) <= bound


def test_a_long_row_in_double_precision_beyond_the_largest_norm_is_clipped() -> None:
    row = torch.full((2 * PIECE,), 1.7e308, dtype=torch.float64)
    assert exact_norm(clip_to(row, l2_norm(row), 0.7)) == pytest.approx(0.7, rel=1e-5)


def test_layers_that_end_within_a_piece_are_clipped_to_bounds_of_their_own() -> None:
    sizes, bounds = (PIECE // 2, PIECE + 3, 5), (0.5, 0.25, 1e9)
    row, norm = row_of(sum(sizes)), PerLayerNorm(sizes=sizes)
    clipped = norm.clip(row, norm.measure(row), bounds)
    first, second, third = torch.split(clipped, list(sizes))
    assert exact_norm(first) == pytest.approx(0.5, rel=2e-6)
    assert exact_norm(second) == pytest.approx(0.25, rel=2e-6)
    assert exact_norm(first) <= 0.5
    assert exact_norm(second) <= 0.25
    assert torch.equal(third, row[-5:])


def test_a_norm_does_not_depend_on_how_many_threads_torch_has() -> None:
    row, before = row_of(5 * PIECE + 3), torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = l2_norm(row)
        torch.set_num_threads(4)
        assert l2_norm(row) == alone
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("size", [*SIZES, 2 * PART + PIECE + 3])
def test_sums_noise_and_steps_have_the_bits_of_whole_passes(size: int) -> None:
    parameters, row, other = row_of(size), row_of(size, 2), row_of(size, 3)
    mean, weighted = Mean(expected_cohort=3.0), WeightedMean()
    total = mean.add(mean.add(mean.init(parameters), row, 1), other, 1)
    assert torch.equal(total, row.double() + other.double())
    heavy, weight = weighted.add(weighted.init(parameters), row, 7)
    assert torch.equal(heavy, row.double() * 7)
    assert weight == 7

    aggregate, sensitivity = mean.finish(total), Sensitivity(row=0.5, share=1 / 3)
    noise = GaussianNoise(multiplier=2.0)
    private, _ = noise.privatise(aggregate, sensitivity, (), stream(1, "noise", replica=0, round=0))
    normal = torch.from_numpy(stream(1, "noise", replica=0, round=0).standard_normal(size))
    assert torch.equal(private, aggregate + normal * sensitivity.times(2.0))

    moved = move_parameters(parameters, private, 0.3)
    assert torch.equal(moved, (parameters.double() + 0.3 * private).float())


def test_a_long_row_is_cut_to_its_grid_as_a_whole() -> None:
    row, norm = row_of(2 * PIECE + 9), FlatNorm()
    grid = Grid.for_bound(1.0)
    cut = grid.cut(norm.clip(row, norm.measure(row), (1.0,)))
    units = cut.double() / grid.spacing
    assert torch.equal(units, units.round())
    assert 1 - 1e-4 < exact_norm(cut) <= 1.0
    # A row too long by a little in its last piece only is found.
    short = torch.zeros(PIECE + 1, dtype=torch.float64)
    short[0], short[-1] = 1.0, 2 * grid.spacing
    found = grid.cut(short)
    assert math.fsum(np.square(found.numpy())) <= 1.0
    assert 0 < float(found[0]) < 1.0


def test_a_sum_of_rows_comes_back_from_its_grid_exactly_and_one_beside_it_is_refused() -> None:
    grid, size = Grid.for_bound(1.0), 2 * PIECE + 9
    units = torch.arange(size) - PIECE
    aggregate = units.double() * grid.spacing / 3
    found = grid.units(aggregate, 1 / 3)
    assert found.dtype == torch.int64
    assert torch.equal(found, units)
    assert torch.equal(grid.floats(found, 1 / 3, aggregate), units.double() * grid.spacing * (1 / 3))
    aggregate[-1] += grid.spacing / 7
    with pytest.raises(InvalidValue, match="beside its grid"):
        grid.units(aggregate, 1 / 3)
