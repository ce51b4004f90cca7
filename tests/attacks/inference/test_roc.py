from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import roc_curve

from fedward.attacks.inference.roc import Roc
from fedward.base.validate import InvalidValue


def test_a_curve_by_hand() -> None:
    scores = np.array([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0])
    truth = np.array([1, 1, 0, 1, 0, 1, 0, 0, 1, 0], dtype=bool)
    found = Roc.of(scores, truth, rates=(0.1, 0.2, 0.4))
    assert found.fpr.tolist() == [0, 0, 0, 0.2, 0.2, 0.4, 0.4, 0.6, 0.8, 0.8, 1]
    assert found.tpr.tolist() == [0, 0.2, 0.4, 0.4, 0.6, 0.6, 0.8, 0.8, 0.8, 1, 1]
    assert found.unresolved == (0.1,)  # one of five negatives is 0.2 already
    assert found.at(0.1) is None
    at_one, at_two = found.at(0.2), found.at(0.4)
    assert at_one is not None
    assert at_two is not None
    # Above the second negative from the top (5) lie 9, 8, 6 of the positives, and the negative 7.
    assert (at_one.threshold, at_one.tpr.value, at_one.fpr.value) == (5.0, 0.6, 0.2)
    assert (at_two.threshold, at_two.tpr.value, at_two.fpr.value) == (3.0, 0.8, 0.4)
    assert found.best_accuracy == pytest.approx(0.7)
    assert (found.positives, found.negatives) == (5, 5)


@given(
    st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=60).filter(
        lambda pairs: len({positive for _, positive in pairs}) == 2
    )
)
def test_the_curve_is_that_of_scikit_learn(pairs: list[tuple[int, bool]]) -> None:
    scores = np.array([score for score, _ in pairs], dtype=float)
    truth = np.array([positive for _, positive in pairs])
    found = Roc.of(scores, truth)
    fpr, tpr, _ = roc_curve(truth, scores, drop_intermediate=False)
    np.testing.assert_allclose(found.fpr, fpr)
    np.testing.assert_allclose(found.tpr, tpr)
    # The area is that below the curve, chords over ties.
    assert np.trapezoid(found.tpr, found.fpr) == pytest.approx(found.auc.value)
    for point in found.points:
        assert point.fpr.value <= point.rate + 1e-12


def test_ties_at_the_threshold_never_raise_more_false_alarms_than_asked_for() -> None:
    scores = np.concatenate([np.ones(50), np.zeros(50), np.ones(20)])
    found = Roc.of(scores, np.arange(120) >= 100, rates=(0.1, 0.6))
    at_tenth, at_sixth = found.points
    assert (at_tenth.fpr.value, at_tenth.tpr.value) == (0.0, 0.0)
    assert (at_sixth.fpr.value, at_sixth.tpr.value) == (0.5, 1.0)


def test_seven_of_a_hundred_are_seven_percent_in_floating_point_too() -> None:
    scores = np.arange(200.0)
    point = Roc.of(scores, np.arange(200) % 2 == 0, rates=(0.07,)).points[0]
    assert point.fpr.value == 0.07


def test_the_intervals_at_a_rate_hold_although_the_threshold_was_chosen_from_the_data() -> None:
    rng = np.random.default_rng(1)
    held = {"tpr": 0, "fpr": 0}
    for _ in range(400):
        scores = np.concatenate([rng.normal(1.0, 1.0, 60), rng.normal(size=200)])
        (point,) = Roc.of(scores, np.arange(260) < 60, rates=(0.05,)).points
        held["tpr"] += point.tpr.low <= norm.sf(point.threshold - 1.0) <= point.tpr.high
        held["fpr"] += point.fpr.low <= norm.sf(point.threshold) <= point.fpr.high
    assert min(held.values()) / 400 > 0.93  # at least 0.95, less two standard deviations


def test_what_goes_into_a_file_is_plain() -> None:
    found = Roc.of(np.arange(300.0), np.arange(300) > 200)
    content = json.loads(json.dumps(found.to_json()))
    assert content["auc"]["value"] == 1.0
    assert list(content["tpr_at_fpr"]) == ["0.01", "0.1"]
    assert content["unresolved_fpr"] == [0.001]


def test_a_rate_of_nothing_or_all_is_refused() -> None:
    for rate in (0.0, 1.0):
        with pytest.raises(InvalidValue, match="false positive rate must be above 0 and below 1"):
            Roc.of(np.arange(4.0), np.arange(4) > 1, rates=(rate,))
