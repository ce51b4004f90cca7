from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aggregation.by_definition import KINDS, combined, exact, median, some_rows, tensor
from fedward.aggregation import CoordinateMedian

floats = st.floats(-(2.0**100), 2.0**100, width=32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 10])
def test_it_is_the_median_of_sorted_lists(kind: str, n: int) -> None:
    for seed in range(5):
        rows = some_rows(kind, n, 4, seed)
        wanted = tensor([median(list(column)) for column in zip(*exact(rows), strict=True)])
        torch.testing.assert_close(combined(CoordinateMedian(), rows), wanted, rtol=1e-15, atol=0)


def test_an_even_number_gives_the_mean_of_the_two_middle_values() -> None:
    rows = [torch.tensor([value, -value]) for value in (9.0, 1.0, 2.0, -5.0)]
    assert combined(CoordinateMedian(), rows).tolist() == [1.5, -1.5]


@given(st.lists(floats, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(values: list[float], random: object) -> None:
    rows = [torch.tensor([value]) for value in values]
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert torch.equal(combined(CoordinateMedian(), rows), combined(CoordinateMedian(), shuffled))


@given(st.lists(st.integers(-100, 100), min_size=1, max_size=9), st.integers(-99, 99), st.integers(-9, 9))
def test_it_moves_and_scales_with_the_rows_also_by_negative_numbers(
    values: list[int], shift: int, scale: int
) -> None:
    rows = [torch.tensor([float(value)]) for value in values]
    moved = [scale * row + shift for row in rows]
    wanted = scale * combined(CoordinateMedian(), rows) + shift
    assert torch.equal(combined(CoordinateMedian(), moved), wanted)


@given(st.lists(floats, min_size=1, max_size=9), st.data())
def test_fewer_bad_rows_than_honest_ones_stay_in_the_honest_range(
    honest: list[float], data: st.DataObject
) -> None:
    bad = data.draw(
        st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=len(honest) - 1)
    )
    result = combined(CoordinateMedian(), [torch.tensor([value]) for value in bad + honest])
    assert min(honest) <= result.item() <= max(honest)


def test_a_model_in_double_precision_has_a_finite_median_up_to_the_largest_number() -> None:
    most = torch.finfo(torch.float64).max
    rows = [torch.tensor([value], dtype=torch.float64) for value in (most, most)]
    assert combined(CoordinateMedian(), rows).item() == most


def test_one_row_is_enough() -> None:
    assert CoordinateMedian().least_rows == 1
