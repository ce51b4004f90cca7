from __future__ import annotations

import pytest
import torch

from aggregation.by_definition import KINDS, combined, exact, krum_order, mean, some_rows, tensor
from fedward.aggregation import Krum, MultiKrum
from fedward.base.validate import InvalidValue


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("malicious", [0, 1, 3])
@pytest.mark.parametrize("selected", [None, 1, 2, 5])
def test_it_is_the_mean_of_the_best_rows_of_the_definition(
    kind: str, malicious: int, selected: int | None
) -> None:
    rule = MultiKrum(malicious=malicious, selected=selected)
    for seed in range(4):
        rows = some_rows(kind, rule.least_rows + seed, 1 + seed % 3, seed)
        exactly = exact(rows)
        count = len(rows) - malicious if selected is None else selected
        best = [exactly[i] for i in krum_order(exactly, malicious)[:count]]
        wanted = tensor([mean(list(column)) for column in zip(*best, strict=True)])
        # The sum may cancel: what is lost is measured by the values that went into it.
        lost = 1e-14 * max(float(abs(value)) for row in best for value in row)
        torch.testing.assert_close(combined(rule, rows), wanted, rtol=1e-12, atol=lost)


def test_one_row_is_krum_and_all_rows_are_the_mean() -> None:
    rows = some_rows("normal", 9, 4, 0)
    assert torch.equal(combined(MultiKrum(malicious=2, selected=1), rows), combined(Krum(malicious=2), rows))
    torch.testing.assert_close(
        combined(MultiKrum(malicious=2, selected=9), rows), torch.stack(rows).double().mean(0)
    )


def test_f_rows_far_away_are_not_among_n_minus_f() -> None:
    for seed in range(20):
        honest = some_rows("normal", 7, 3, seed)
        bad = [torch.full((3,), 1e30), torch.full((3,), 1e30), torch.tensor([0.0, 0.0, -1e9])]
        result = combined(MultiKrum(malicious=3), bad + honest)
        torch.testing.assert_close(result, torch.stack(honest).double().mean(0), rtol=1e-12, atol=1e-14)


def test_the_order_of_rows_does_not_matter_to_the_last_bit() -> None:
    rows = some_rows("normal", 8, 5, 0)
    for seed in range(10):
        order = torch.randperm(8, generator=torch.Generator().manual_seed(seed)).tolist()
        rule = MultiKrum(malicious=2)
        assert torch.equal(combined(rule, [rows[i] for i in order]), combined(rule, rows))


def test_it_moves_and_scales_with_the_rows() -> None:
    rule = MultiKrum(malicious=2, selected=4)
    for seed in range(20):
        rows = some_rows("ties", 8, 3, seed)
        moved = [(row + 3) * 4 for row in rows]
        assert torch.equal(combined(rule, moved), (combined(rule, rows) + 3) * 4)


def test_it_needs_as_many_rows_as_it_selects() -> None:
    assert MultiKrum(malicious=1).least_rows == 5
    assert MultiKrum(malicious=1, selected=4).least_rows == 5
    assert MultiKrum(malicious=1, selected=9).least_rows == 9


@pytest.mark.parametrize(("malicious", "selected"), [(-1, None), (1, 0), (1, -2)])
def test_impossible_numbers_are_refused(malicious: int, selected: int | None) -> None:
    with pytest.raises(InvalidValue, match="must be at least"):
        MultiKrum(malicious=malicious, selected=selected)
