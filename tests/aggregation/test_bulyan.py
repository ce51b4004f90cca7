from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aggregation.by_definition import KINDS, bulyan, combined, exact, some_rows, tensor
from fedward.aggregation import Bulyan
from fedward.aggregation.bulyan import _around_median
from fedward.base.validate import InvalidValue


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("malicious", "n"), [(0, 3), (0, 6), (1, 7), (1, 8), (1, 10), (2, 11), (2, 14)])
def test_it_is_what_the_definition_says(kind: str, malicious: int, n: int) -> None:
    for seed in range(4):
        rows = some_rows(kind, n, 1 + seed, seed)
        wanted = bulyan(exact(rows), malicious)
        found = combined(Bulyan(malicious=malicious), rows)
        torch.testing.assert_close(found, tensor(wanted), rtol=1e-12, atol=1e-14)


def test_without_malicious_rows_it_is_the_mean() -> None:
    rows = some_rows("normal", 6, 4, 0)
    torch.testing.assert_close(combined(Bulyan(malicious=0), rows), torch.stack(rows).double().mean(0))


def test_of_two_values_equally_near_to_the_median_the_smaller_is_taken() -> None:
    # Seven rows, f = 1: five are picked, three of each column averaged. The two far ones are not picked.
    rows = [torch.tensor([value]) for value in (-2.0, -2.0, 0.0, 2.0, 2.0, 1e9, -1e9)]
    assert combined(Bulyan(malicious=1), rows).item() == pytest.approx(float(bulyan(exact(rows), 1)[0]))
    assert combined(Bulyan(malicious=1), rows).item() == pytest.approx(-4 / 3)


honest_rows = st.integers(1, 2).flatmap(
    lambda f: st.tuples(
        st.just(f),
        st.lists(
            st.lists(st.integers(-50, 50), min_size=2, max_size=2), min_size=3 * f + 3, max_size=3 * f + 6
        ),
    )
)


@given(honest_rows, st.floats(1e5, 1e37), st.booleans(), st.booleans())
def test_f_rows_far_away_stay_outside(
    case: tuple[int, list[list[int]]], far: float, together: bool, hidden: bool
) -> None:
    malicious, values = case
    honest = [torch.tensor(value, dtype=torch.float32) for value in values]
    bad = []
    for i in range(malicious):
        row = honest[0].clone() if hidden else torch.zeros(2)
        row[0] = far * (1 if together else (-1) ** i * (i + 1))
        bad.append(row)
    result = combined(Bulyan(malicious=malicious), bad + honest)[0].item()
    column = [value[0] for value in values]
    assert min(column) - 1e-12 <= result <= max(column) + 1e-12


def test_the_order_of_rows_does_not_matter_without_ties() -> None:
    # With f = 1 or 2 there always are some: two rows with one neighbour, each other, have equal scores.
    rows, rule = some_rows("normal", 16, 3, 0), Bulyan(malicious=3)
    for seed in range(10):
        order = torch.randperm(16, generator=torch.Generator().manual_seed(seed)).tolist()
        assert torch.equal(combined(rule, [rows[i] for i in order]), combined(rule, rows))


def test_it_moves_and_scales_with_the_rows() -> None:
    rule = Bulyan(malicious=1)
    for seed in range(20):
        rows = some_rows("ties", 8, 3, seed)
        moved = [(row + 3) * 4 for row in rows]
        torch.testing.assert_close(combined(rule, moved), (combined(rule, rows) + 3) * 4, rtol=0, atol=1e-13)


def test_huge_rows_of_a_model_in_double_precision_leave_it_finite() -> None:
    most = torch.finfo(torch.float64).max
    rows = [
        torch.tensor([value, -value], dtype=torch.float64) for value in (most, -most, 1.0, 2.0, 3.0, 4.0, 5.0)
    ]
    found = combined(Bulyan(malicious=1), rows)
    torch.testing.assert_close(found, tensor(bulyan(exact(rows), 1)), rtol=1e-12, atol=0)
    assert bool(torch.isfinite(combined(Bulyan(malicious=1), [rows[0]] * 7)).all())


def test_the_nearest_to_the_median_are_found_beyond_the_largest_number() -> None:
    most = torch.finfo(torch.float64).max
    values = torch.tensor([[-1.0, -0.95, -0.5, 0.9, 0.9, 0.9, 0.9]], dtype=torch.float64).T * most
    wanted = (4 * 0.9 - 0.5) / 5
    assert _around_median(values, 5).item() / most == pytest.approx(wanted, rel=1e-12)


def test_it_needs_4f_plus_3_rows() -> None:
    assert [Bulyan(malicious=f).least_rows for f in (0, 1, 4)] == [3, 7, 19]
    with pytest.raises(InvalidValue, match="number of malicious rows must be at least 0, got -1"):
        Bulyan(malicious=-1)
