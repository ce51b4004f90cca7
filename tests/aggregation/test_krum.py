from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from aggregation.by_definition import KINDS, combined, exact, krum_order, krum_score, some_rows
from fedward.aggregation import Krum
from fedward.base.validate import InvalidType, InvalidValue


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("malicious", [0, 1, 2, 3])
@pytest.mark.parametrize("spare", [0, 1, 4])
def test_it_is_the_row_of_the_definition(kind: str, malicious: int, spare: int) -> None:
    n = 2 * malicious + 3 + spare
    for seed in range(6):
        rows = some_rows(kind, n, 1 + seed % 3, seed)
        winner = krum_order(exact(rows), malicious)[0]
        assert torch.equal(combined(Krum(malicious=malicious), rows), rows[winner].double())


@pytest.mark.parametrize("seed", range(30))
def test_rows_in_double_precision_are_chosen_by_the_definition_up_to_the_largest_number(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.uniform(-1, 1, size=(9, 2)) * 10.0 ** rng.uniform(-300, 308, size=(9, 1))
    rows = list(torch.from_numpy(values))
    taken = combined(Krum(malicious=2), rows)
    scores = [krum_score(exact(rows), i, 5) for i in range(9)]
    # Rows of such different sizes have scores that agree to the last digit of a double.
    assert min(scores[i] for i in range(9) if torch.equal(rows[i], taken)) <= min(scores) * (
        1 + Fraction(1, 10**12)
    )


def test_of_equal_scores_the_earliest_row_wins() -> None:
    square = [torch.tensor(corner) for corner in ([0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0])]
    centre = torch.zeros(2)
    assert torch.equal(combined(Krum(malicious=0), square), square[0].double())
    assert torch.equal(combined(Krum(malicious=0), square[::-1]), square[3].double())
    # Ten equal rows in two places: those that have the most company win.
    assert torch.equal(combined(Krum(malicious=1), [square[0]] * 4 + [centre] * 6), centre.double())


def test_far_neighbours_beyond_n_minus_f_minus_2_do_not_count() -> None:
    line = [torch.tensor([value]) for value in (0.0, 1.0, 2.0, 4.0, 1e6)]
    # With f = 1 two neighbours count: 1.0 has 1 + 1. With f = 0 all but one do.
    assert combined(Krum(malicious=1), line).item() == 1.0
    assert combined(Krum(malicious=0), line).item() == krum_winner_by_hand(line)


def krum_winner_by_hand(line: list[torch.Tensor]) -> float:
    values = [row.item() for row in line]
    scores = [sum(sorted((a - b) ** 2 for b in values)[1:4]) for a in values]
    return values[scores.index(min(scores))]


whole_rows = st.integers(0, 2).flatmap(
    lambda f: st.tuples(
        st.just(f),
        st.lists(
            st.lists(st.integers(-50, 50), min_size=2, max_size=2), min_size=2 * f + 3, max_size=2 * f + 6
        ),
    )
)


@given(whole_rows, st.randoms(use_true_random=False))
def test_the_order_of_rows_matters_in_ties_only(case: tuple[int, list[list[int]]], random: object) -> None:
    malicious, values = case
    rows = [torch.tensor(value, dtype=torch.float32) for value in values]
    scores = [order_key(rows, i, malicious) for i in range(len(rows))]
    winners = {tuple(values[i]) for i in range(len(rows)) if scores[i] == min(scores)}
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert tuple(combined(Krum(malicious=malicious), shuffled).tolist()) in winners


def order_key(rows: list[torch.Tensor], i: int, malicious: int) -> float:
    distances = sorted(float((rows[i] - row).square().sum()) for j, row in enumerate(rows) if j != i)
    return sum(distances[: len(rows) - malicious - 2])


@given(whole_rows, st.integers(-1000, 1000), st.integers(-20, 20))
def test_it_moves_and_scales_with_the_rows(
    case: tuple[int, list[list[int]]], shift: int, exponent: int
) -> None:
    malicious, values = case
    rows = [torch.tensor(value, dtype=torch.float32) for value in values]
    rule = Krum(malicious=malicious)
    moved = [(row + shift) * 2.0**exponent for row in rows]
    assert torch.equal(combined(rule, moved), (combined(rule, rows) + shift) * 2.0**exponent)


@given(whole_rows, st.floats(1e5, 1e37), st.booleans())
def test_f_rows_far_away_never_win(case: tuple[int, list[list[int]]], far: float, together: bool) -> None:
    malicious, values = case
    rows = [torch.tensor(value, dtype=torch.float32) for value in values]
    bad = [torch.tensor([far, -far]) * (1 if together else i + 1) for i in range(malicious)]
    result = combined(Krum(malicious=malicious), bad + rows[malicious:])
    assert any(torch.equal(result, row.double()) for row in rows[malicious:])


def test_it_needs_2f_plus_3_rows() -> None:
    assert [Krum(malicious=f).least_rows for f in (0, 1, 8)] == [3, 5, 19]


def test_a_number_of_malicious_rows_must_be_a_whole_number_of_at_least_0() -> None:
    with pytest.raises(InvalidValue, match="number of malicious rows must be at least 0, got -1"):
        Krum(malicious=-1)
    with pytest.raises(InvalidType, match=r"number of malicious rows must be a whole number, got 1\.5"):
        Krum(malicious=1.5)  # type: ignore[arg-type]
