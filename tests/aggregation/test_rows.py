from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import torch

from aggregation.by_definition import KINDS, combined, exact, krum_order, some_rows
from fedward.aggregation import (
    Bulyan,
    CoordinateMedian,
    GeometricMedian,
    Krum,
    MultiKrum,
    TrimmedMean,
    column_blocks,
)
from fedward.aggregation.krum import krum_scores
from fedward.aggregation.rows import (
    combine_columns,
    mean,
    middle_of_sorted,
    rank_by_score,
    scale_down,
    squared_distances,
)

MOST = torch.finfo(torch.float64).max


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 7, (1 << 13) - 1, (1 << 13) + 1])
def test_distances_are_those_of_the_rows_across_all_blocks(kind: str, size: int) -> None:
    rows = some_rows(kind, 5, size, 0)
    (squared,) = squared_distances(rows)
    for i in range(5):
        for j in range(5):
            wanted = (rows[i].double() - rows[j].double()).square().sum()
            torch.testing.assert_close(squared[i, j], wanted, rtol=1e-12, atol=0)


def test_equal_rows_have_distance_zero_however_large_they_are() -> None:
    row = torch.randn(10_000, generator=torch.Generator().manual_seed(0)) * 1e6
    near = row.clone()
    near[3] += 1.0
    (squared,) = squared_distances([row, row.clone(), near])
    assert squared.tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize(
    "rule",
    [
        Krum(malicious=1),
        MultiKrum(malicious=1),
        CoordinateMedian(),
        TrimmedMean(trimmed=1),
        GeometricMedian(),
        Bulyan(malicious=1),
    ],
    ids=repr,
)
def test_no_result_depends_on_the_number_of_threads(rule: Any) -> None:
    rows = some_rows("normal", 7, 100_003, 1)
    before = torch.get_num_threads()
    try:
        found = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            found.append((squared_distances(rows)[0], combined(rule, rows)))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_memory_stays_at_a_few_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are never held a second time: what ``combine`` sees is one block."""
    monkeypatch.setattr(column_blocks, "_BLOCK", 10)
    widths: list[tuple[int, ...]] = []

    def combine(block: torch.Tensor) -> torch.Tensor:
        widths.append(tuple(block.shape))
        return block[0]

    rows = some_rows("normal", 3, 25, 0)
    assert torch.equal(combine_columns(rows, combine), rows[0].double())
    assert sorted(widths) == [(3, 5), (3, 10), (3, 10)]


def test_what_overflows_is_still_told_apart() -> None:
    """Three updates of a model in double precision that are all infinitely far apart in squares."""
    rows = [torch.tensor([value], dtype=torch.float64) for value in (1.6e308, -1.6e308, 1e200, 3e200)]
    squared = squared_distances(rows)
    assert len(squared) == 2
    assert torch.isinf(squared[0]).sum() == 12
    assert rank_by_score(squared, lambda matrix: krum_scores(matrix, 1)).tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("size", [0.3, 300.0])
def test_what_is_small_is_told_apart_beside_what_overflows(size: float) -> None:
    """Scaled down with the huge ones, small rows lose their squares, or all but a few bits of them."""
    for seed in range(20):
        small = size * torch.rand(6, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        rows = [*torch.tensor([[1.6e308], [-1.6e308]], dtype=torch.float64), *small]
        order = rank_by_score(squared_distances(rows), lambda matrix: krum_scores(matrix, 4))
        assert order.tolist()[:6] == krum_order(exact(rows), 2)[:6]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 99, 128])
def test_a_mean_is_that_of_exact_fractions_and_finite_up_to_the_largest_number(n: int) -> None:
    rows = some_rows("normal", n, 3, 0)
    wanted = [float(sum(column, Fraction(0)) / n) for column in zip(*exact(rows), strict=True)]
    assert mean(torch.stack(rows).double()).tolist() == pytest.approx(wanted, rel=1e-13, abs=1e-16)
    equal = torch.full((n, 2), 0.1).double()
    assert torch.equal(mean(equal), equal[0])
    assert mean(torch.full((n, 1), MOST, dtype=torch.float64)).item() == pytest.approx(MOST, rel=1e-15)


def test_the_middle_of_two_is_between_them() -> None:
    assert middle_of_sorted(torch.tensor([[MOST / 2], [MOST]], dtype=torch.float64)).item() == MOST * 0.75
    assert middle_of_sorted(torch.tensor([[-MOST], [MOST]], dtype=torch.float64)).item() == 0
    assert middle_of_sorted(torch.tensor([[1.0], [2.0], [7.0]])).item() == 2


def test_rows_are_shrunk_by_a_power_of_two_and_only_if_they_must_be() -> None:
    rows = [torch.tensor([1e38]), torch.tensor([-3.0])]
    assert scale_down(rows, 480) == (rows, 1.0)
    (large, small), power = scale_down(list(torch.tensor([[MOST], [3.0]], dtype=torch.float64)), 480)
    assert 2.0**479 <= large.item() <= 2.0**480
    assert (large / power).item() == MOST
    assert small.item() == 3.0 * power
