from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from fedward.attacks.inference.auc import auc
from fedward.attacks.inference.snapshots import classify_snapshots, pool_update
from fedward.base.validate import InvalidValue
from fedward.core.parameters import ParameterSpec

SPEC = ParameterSpec.of(nn.Linear(6, 2))  # 12 weights and 2 biases


def test_large_parameters_are_pooled_and_small_ones_kept() -> None:
    update = torch.tensor([0.0, -7.0, 1.0, 2.0, 0.0, 0.0, 3.0, 0.0, -4.0, 0.0, 0.0, 5.0, 0.5, -0.5])
    found = pool_update(update, SPEC, 4)
    wanted = np.array([7.0, 2.0, 4.0, 5.0, 0.5, 0.5])
    np.testing.assert_allclose(found, wanted / np.linalg.norm(wanted), rtol=1e-6)


def test_no_number_of_pieces_loses_the_largest_change() -> None:
    rng = np.random.default_rng(0)
    update = torch.from_numpy(rng.normal(size=14)).float()
    for size in range(1, 20):
        found = pool_update(update, SPEC, size)
        assert len(found) == min(size, 12) + min(size, 2)
        assert np.linalg.norm(found) == pytest.approx(1.0)
        assert found.argmax() < min(size, 12) or update.abs().argmax() >= 12


def test_the_length_of_an_update_does_not_matter_and_nothing_stays_nothing() -> None:
    update = torch.arange(14.0)
    np.testing.assert_allclose(pool_update(update, SPEC, 5), pool_update(1e-3 * update, SPEC, 5), rtol=1e-6)
    assert not pool_update(torch.zeros(14), SPEC, 5).any()


def test_a_forest_finds_the_feature_that_shows_the_property_and_no_other() -> None:
    rng = np.random.default_rng(0)
    known, asked = (rng.random((n, 30)).astype(np.float32) for n in (400, 100))
    truth, wanted = rng.random(400) < 0.5, rng.random(100) < 0.5
    blind = auc(classify_snapshots(known, truth, asked, trees=50, seed=1), wanted)
    assert blind.low < 0.5 < blind.high
    known[truth, 7] += 0.5
    asked[wanted, 7] += 0.5
    sure = classify_snapshots(known, truth, asked, trees=50, seed=1)
    assert auc(sure, wanted).value > 0.8
    np.testing.assert_array_equal(sure, classify_snapshots(known, truth, asked, trees=50, seed=1))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pool_update(torch.zeros(13), SPEC, 4), "update must have shape \\(14,\\), got \\(13,\\)"),
        (lambda: pool_update(torch.full((14,), torch.nan), SPEC, 4), "update must be finite"),
        (lambda: pool_update(torch.zeros(14), SPEC, 0), "features of a parameter must be at least 1, got 0"),
        (
            lambda: classify_snapshots(
                np.ones((4, 2), np.float32), np.ones(4, bool), np.ones((1, 2), np.float32), trees=5, seed=0
            ),
            "with and without the property, got 4 with it of 4",
        ),
        (
            lambda: classify_snapshots(
                np.ones((4, 2), np.float32), np.arange(4) < 2, np.ones((1, 3), np.float32), trees=5, seed=0
            ),
            "with the same features",
        ),
    ],
)
def test_what_is_no_snapshot_is_told(call: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        call()
