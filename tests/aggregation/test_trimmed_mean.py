from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aggregation.by_definition import KINDS, combined, exact, mean, some_rows, tensor
from fedward.aggregation import CoordinateMedian, TrimmedMean
from fedward.base.validate import InvalidType, InvalidValue

floats = st.floats(-(2.0**100), 2.0**100, width=32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trimmed", [0, 1, 3])
@pytest.mark.parametrize("spare", [0, 1, 4])
def test_it_is_the_mean_of_sorted_lists_without_their_ends(kind: str, trimmed: int, spare: int) -> None:
    n = 2 * trimmed + 1 + spare
    for seed in range(4):
        rows = some_rows(kind, n, 4, seed)
        columns = [sorted(column)[trimmed : n - trimmed] for column in zip(*exact(rows), strict=True)]
        wanted = tensor([mean(column) for column in columns])
        lost = 1e-14 * max(float(abs(value)) for column in columns for value in column)
        found = combined(TrimmedMean(trimmed=trimmed), rows)
        torch.testing.assert_close(found, wanted, rtol=1e-12, atol=lost)


def test_it_goes_from_the_mean_to_the_median() -> None:
    rows = some_rows("normal", 9, 5, 0)
    torch.testing.assert_close(combined(TrimmedMean(trimmed=0), rows), torch.stack(rows).double().mean(0))
    torch.testing.assert_close(combined(TrimmedMean(trimmed=4), rows), combined(CoordinateMedian(), rows))


@given(st.lists(floats, min_size=5, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(values: list[float], random: object) -> None:
    rows = [torch.tensor([value]) for value in values]
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    rule = TrimmedMean(trimmed=2)
    assert torch.equal(combined(rule, rows), combined(rule, shuffled))


@given(st.lists(st.integers(-100, 100), min_size=5, max_size=9), st.integers(-99, 99), st.integers(-9, 9))
def test_it_moves_and_scales_with_the_rows_also_by_negative_numbers(
    values: list[int], shift: int, scale: int
) -> None:
    rule = TrimmedMean(trimmed=2)
    rows = [torch.tensor([float(value)]) for value in values]
    found = combined(rule, [scale * row + shift for row in rows])
    torch.testing.assert_close(found, scale * combined(rule, rows) + shift, rtol=1e-13, atol=1e-12)


@given(st.integers(0, 4), st.data())
def test_as_many_bad_rows_as_are_trimmed_stay_in_the_honest_range(trimmed: int, data: st.DataObject) -> None:
    honest = data.draw(st.lists(floats, min_size=trimmed + 1, max_size=9))
    bad = data.draw(
        st.lists(
            st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=trimmed, max_size=trimmed
        )
    )
    result = combined(TrimmedMean(trimmed=trimmed), [torch.tensor([value]) for value in bad + honest]).item()
    # The mean is rounded once more than the values that it lies between.
    slack = 1e-15 * max(map(abs, honest))
    assert min(honest) - slack <= result <= max(honest) + slack


def test_it_needs_2b_plus_1_rows() -> None:
    assert [TrimmedMean(trimmed=b).least_rows for b in (0, 1, 8)] == [1, 3, 17]


def test_a_share_is_not_a_number_of_rows() -> None:
    with pytest.raises(InvalidType, match=r"number of trimmed rows must be a whole number, got 0\.1"):
        TrimmedMean(trimmed=0.1)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="number of trimmed rows must be at least 0, got -1"):
        TrimmedMean(trimmed=-1)
