from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from sklearn.metrics import roc_auc_score

from fedward.attacks.inference.auc import auc, proportion
from fedward.base.validate import InvalidType, InvalidValue


def drawn(shift: float, m: int, n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    scores = np.concatenate([rng.normal(shift, 1.0, m), rng.normal(0.0, 1.0, n)])
    return scores, np.arange(m + n) < m


def test_the_area_counts_pairs_and_a_tie_as_one_half() -> None:
    # Positives 1, 2; negatives 1, 0: pairs (1,1) tie, (1,0), (2,1), (2,0) won.
    found = auc([1.0, 2.0, 1.0, 0.0], np.array([True, True, False, False]))
    assert found.value == 3.5 / 4


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=2, max_size=40).filter(
        lambda pairs: len({positive for _, positive in pairs}) == 2
    )
)
def test_the_area_is_that_of_scikit_learn_and_turns_around_with_the_scores(
    pairs: list[tuple[int, bool]],
) -> None:
    scores = np.array([score for score, _ in pairs], dtype=float)
    truth = np.array([positive for _, positive in pairs])
    found, turned = auc(scores, truth), auc(-scores, truth)
    assert found.value == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)
    assert turned.value == pytest.approx(1 - found.value)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert turned.low == pytest.approx(1 - found.high, abs=1e-9)
    assert found.low < found.high


@pytest.mark.parametrize(("shift", "m", "n"), [(0.0, 30, 40), (1.0, 30, 40), (2.0, 50, 20)])
def test_the_interval_holds_the_truth_as_often_as_it_says(shift: float, m: int, n: int) -> None:
    rng = np.random.default_rng(0)
    truth = norm.cdf(shift / np.sqrt(2))
    found = [auc(*drawn(shift, m, n, rng)) for _ in range(600)]
    held = np.mean([each.low <= truth <= each.high for each in found])
    assert 0.925 < held < 0.975  # three standard deviations of 600 trials are 0.027


def test_perfect_separation_is_not_certainty() -> None:
    few = auc([3.0, 4.0, 1.0, 2.0], np.array([True, True, False, False]))
    many = auc(np.arange(400.0), np.arange(400) >= 200)
    assert few.value == many.value == 1.0
    assert few.high == many.high == 1.0
    assert few.low < 0.6
    assert 0.97 < many.low < 1.0


def test_scores_that_are_all_equal_tell_nothing() -> None:
    found = auc(np.zeros(100), np.arange(100) < 50)
    assert found.value == 0.5
    assert found.low < 0.45
    assert found.high > 0.55


@pytest.mark.parametrize(("count", "total"), [(0, 10), (3, 10), (10, 10), (1, 1000)])
def test_a_share_has_the_exact_interval(count: int, total: int) -> None:
    wanted = binomtest(count, total).proportion_ci(0.95, method="exact")
    found = proportion(count, total)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))
    assert found.value == count / total


@pytest.mark.parametrize(
    ("scores", "truth", "error", "message"),
    [
        ([1.0, 2.0], [True, True], InvalidValue, "needs scores of both kinds, got 2 positive and 0 negative"),
        ([1.0, 2.0], [False, False], InvalidValue, "got 0 positive and 2 negative"),
        ([1.0, np.nan], [True, False], InvalidValue, "scores must be finite, got nan"),
        ([1.0], [True, False], InvalidValue, "the same length"),
        ([1.0, 2.0], [1, 0], InvalidType, "truth must be true or false"),
    ],
)
def test_what_has_no_area_is_told(scores: Any, truth: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        auc(scores, np.array(truth))


def test_more_than_all_is_no_share() -> None:
    with pytest.raises(InvalidValue, match="count must be at most 3, got 4"):
        proportion(4, 3)
