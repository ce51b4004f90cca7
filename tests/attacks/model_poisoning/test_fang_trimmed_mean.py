from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from attacks.model_poisoning.seen_rows import HONEST, OWN, seen, sent
from fedward.aggregation import TrimmedMean
from fedward.attacks.model_poisoning import FangTrimmedMean
from fedward.base.validate import InvalidType, InvalidValue

START = np.array([0.5, -3.0, 3.0, 0.0, -0.1], dtype=np.float32)


def interval(honest: Any, own: Any, start: Any, b: float) -> list[tuple[float, float]]:
    """Where the values may lie, coordinate by coordinate, from the paper's definition."""
    everybody = np.concatenate([honest, own]).astype(np.float64)
    found = []
    for j in range(everybody.shape[1]):
        column = np.sort(everybody[:, j])
        cut = min(len(own), (len(column) - 1) // 2)
        grows = column[cut : len(column) - cut].mean() >= 0
        models = honest[:, j].astype(np.float64) + start[j]
        low, high = models.min(), models.max()
        if not grows:
            ends = (high, b * high) if high > 0 else (high, high / b)
        else:
            ends = (low / b, low) if low > 0 else (b * low, low)
        found.append((ends[0] - start[j], ends[1] - start[j]))
    return found


@given(st.integers(0, 1000), st.integers(3, 9), st.integers(1, 3), st.floats(1.01, 5.0))
def test_every_value_lies_where_the_paper_has_it(seed: int, users: int, attackers: int, b: float) -> None:
    rng = np.random.default_rng(seed)
    honest = rng.normal(size=(users, 5)).astype(np.float32)
    own = rng.normal(size=(attackers, 5)).astype(np.float32)
    row = sent(FangTrimmedMean(factor=b), seen(own, honest, start=START)).double().numpy()
    for value, (low, high) in zip(row, interval(honest, own, START.astype(np.float64), b), strict=True):
        assert low - 1e-5 <= value <= high + 1e-5


def test_the_trimmed_mean_goes_the_wrong_way_in_every_coordinate() -> None:
    rng = np.random.default_rng(1)
    honest = (rng.choice([-1.0, 1.0], size=5) + 0.3 * rng.normal(size=(16, 5))).astype(np.float32)
    own = honest[:4]
    sight = seen(own, honest)
    rows = [sent(FangTrimmedMean(), sight, user, seed=user) for user in range(4)]
    assert not torch.equal(rows[0], rows[1])  # every attacker draws its own
    attacked = TrimmedMean(trimmed=4).combine([*map(torch.as_tensor, honest), *rows]).numpy()
    clean = trim_mean(honest.astype(np.float64), 0.25, axis=0)
    assert ((attacked - clean) * np.sign(clean) < 0).all()


def test_attackers_who_know_their_own_rows_go_three_to_four_deviations_away() -> None:
    row = sent(FangTrimmedMean(), seen(honest=None)).double().numpy()
    wide = OWN.astype(np.float64)
    away = (row - wide.mean(0)) / wide.std(0)
    assert ((np.abs(away) >= 3 - 1e-5) & (np.abs(away) <= 4 + 1e-5)).all()
    assert (np.sign(away) == -np.sign(wide.mean(0))).all()
    assert torch.equal(
        sent(FangTrimmedMean(), seen(honest=HONEST[:0])), sent(FangTrimmedMean(), seen(honest=None))
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"factor": 1.0}, InvalidValue),
        ({"factor": float("nan")}, InvalidValue),
        ({"trimmed": -1}, InvalidValue),
        ({"trimmed": 0.5}, InvalidType),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match="must be"):
        FangTrimmedMean(**arguments)
