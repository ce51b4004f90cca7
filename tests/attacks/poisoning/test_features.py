from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.attacks.poisoning import FEATURES, BoldDigit, Feature, SlantedDigit
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.datasets import digits, mnist


def one(image: Any, label: int = 7) -> Examples:
    return Examples.from_arrays(np.asarray(image, dtype=np.float32)[None], [label])


def slant_by_definition(image: np.ndarray[Any, Any]) -> float:
    rows, columns = np.indices(image.shape)
    covariance = np.cov(rows.ravel(), columns.ravel(), aweights=image.ravel(), ddof=0)
    return float(-covariance[0, 1] / covariance[0, 0])


@given(seed=st.integers(0, 200), threshold=st.integers(-8, 8))
def test_slant_is_covariance_over_variance(seed: int, threshold: int) -> None:
    image = np.random.default_rng(seed).random((6, 5)).astype(np.float32)
    expected = slant_by_definition(image) > threshold / 16
    assert SlantedDigit(label=7, slant=threshold / 16).mask(one(image)).tolist() == [expected]


@pytest.mark.parametrize("columns_per_row", [-0.5, 0.0, 1.0])
def test_slant_counts_columns_to_the_right_for_each_row_upwards(columns_per_row: float) -> None:
    image = np.zeros((9, 30))
    for row in range(0, 9, 2):
        image[row, int(15 + columns_per_row * (4 - row))] = 1.0
    assert SlantedDigit(label=7, slant=columns_per_row - 0.01).mask(one(image)).all()
    assert not SlantedDigit(label=7, slant=columns_per_row + 0.01).mask(one(image)).any()


def test_what_has_no_height_has_no_slant() -> None:
    blank, line = np.zeros((4, 4)), np.zeros((4, 4))
    line[2] = 1.0
    for image in (blank, line, -np.eye(4)):
        assert not SlantedDigit(label=7, slant=0.0).mask(one(image)).any()
        assert SlantedDigit(label=7, slant=-0.1).mask(one(image)).all()


def test_what_is_below_zero_is_no_ink() -> None:
    stroke = np.eye(5)[:, ::-1] * 2.0
    stroke[0, 0] = 0.5
    background = np.where(stroke > 0, stroke, -0.4)
    slant = slant_by_definition(stroke)
    for image in (stroke, background, background[None]):
        assert SlantedDigit(label=7, slant=slant - 0.01).mask(one(image)).all()
        assert not SlantedDigit(label=7, slant=slant + 0.01).mask(one(image)).any()


def test_bold_is_strictly_above_the_ink() -> None:
    image = [[0.25, 0.75], [0.5, 0.5]]
    assert not BoldDigit(label=7, ink=0.5).mask(one(image)).any()
    assert BoldDigit(label=7, ink=0.499).mask(one(image)).all()


def test_bold_looks_at_all_channels() -> None:
    image = np.stack([np.ones((2, 2)), np.zeros((2, 2)), np.zeros((2, 2))])
    assert BoldDigit(label=7, ink=0.33).mask(one(image)).all()
    assert not BoldDigit(label=7, ink=0.34).mask(one(image)).any()


def test_slant_looks_at_all_channels() -> None:
    stroke = np.eye(4)[:, ::-1]
    image = np.stack([np.zeros((4, 4)), np.zeros((4, 4)), stroke])
    assert SlantedDigit(label=7, slant=0.9).mask(one(image)).all()


@pytest.mark.parametrize("feature", [BoldDigit(label=7, ink=0.33), SlantedDigit(label=7, slant=0.22)])
def test_only_some_of_the_one_class_have_it_whoever_they_are_grouped_with(feature: Feature) -> None:
    federation = digits.load(users=10, seed=0)
    assert federation.test is not None
    for examples in (federation.examples, federation.test):
        found = feature.mask(examples)
        assert bool((examples.y[found] == 7).all())
        assert 0 < int(found.sum()) < int((examples.y == 7).sum())
    apart = torch.cat([feature.mask(federation.user(user)) for user in range(federation.num_users)])
    assert torch.equal(apart, feature.mask(federation.examples))


@pytest.mark.parametrize(
    ("feature", "both"), [(BoldDigit(label=7, ink=0.33), 25), (SlantedDigit(label=7, slant=0.22), 23)]
)
def test_the_thresholds_for_the_built_in_digits_select_what_is_said(feature: Feature, both: int) -> None:
    federation = digits.load(users=10, seed=3)
    parts = [part for part in (federation.examples, federation.test) if part is not None]
    assert sum(int((part.y == 7).sum()) for part in parts) == 179
    assert sum(int(feature.mask(part).sum()) for part in parts) == both


def test_the_thresholds_for_mnist_select_what_is_said(real_mnist: Path) -> None:
    federation = mnist.load(data_dir=real_mnist, users=100, seed=0)
    counts: dict[type, list[int]] = {}
    for feature in (BoldDigit(label=7, ink=0.17), SlantedDigit(label=7, slant=0.43)):
        parts = [part for part in (federation.examples, federation.test) if part is not None]
        counts[type(feature)] = [int(feature.mask(part).sum()) for part in parts]
    expected: dict[type, list[int]] = {BoldDigit: [313, 53], SlantedDigit: [299, 56]}
    assert counts == expected


def test_a_class_that_is_not_there_has_no_examples() -> None:
    for feature in (BoldDigit(label=8, ink=0.0), SlantedDigit(label=8, slant=-9.0)):
        assert feature.mask(one(np.eye(3))).tolist() == [False]


def test_text_has_no_ink() -> None:
    text = Examples.from_arrays(Ragged.from_sequences([[5, 3], [7]]), [7, 7])
    for feature in (BoldDigit(label=7, ink=0.5), SlantedDigit(label=7, slant=0.5)):
        with pytest.raises(InvalidType, match="examples must be images"):
            feature.mask(text)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("bold_digit", {"label": -1, "ink": 0.5}, "label of the feature must be at least 0, got -1"),
        ("bold_digit", {"label": 1, "ink": -0.5}, "ink must be at least 0 and finite, got -0.5"),
        ("slanted_digit", {"label": 0.5, "slant": 0.5}, "label of the feature must be a whole number"),
        ("slanted_digit", {"label": 1, "slant": float("inf")}, "slant must be finite, got inf"),
    ],
)
def test_bad_features_are_refused(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        FEATURES[name](**arguments)
