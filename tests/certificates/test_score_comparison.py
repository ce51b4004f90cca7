from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.certificates.replica_scores import Replicas
from fedward.certificates.score_comparison import TOLERANCE, Comparison
from fedward.certificates.tally import Tally

M, N, C = 6, 5, 3
SCORES = np.random.default_rng(1).dirichlet([5.0, 2.0, 1.0], (M, N)).astype(np.float32)
REPLICAS = Replicas(scores=SCORES, numbers=np.arange(M), seed=1)


def compare(stored: Any, again: Any, tolerance: float) -> Comparison:
    found = Comparison(stored, tolerance)
    for number, confidences in enumerate(again):
        found.add(number, confidences)
    found.finish()
    return found


@pytest.mark.parametrize(
    "stored", [REPLICAS, REPLICAS.votes(), Tally.of(REPLICAS)], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("tolerance", [0.0, TOLERANCE])
def test_the_same_replicas_agree_in_every_bit(stored: Any, tolerance: float) -> None:
    found = compare(stored, SCORES, tolerance)
    assert not found.disagreements
    assert found.bit_for_bit == M


def moved(by: float, replica: int = 2) -> Any:
    """One replica with a little moved from one class to another."""
    changed = SCORES.copy()
    changed[replica, 3, 0] += by
    changed[replica, 3, 1] -= by
    return changed


def test_one_bit_is_told_where_bits_are_asked_for() -> None:
    changed = SCORES.copy()
    changed[2, 3, 0] = np.nextafter(changed[2, 3, 0], 1)
    (found,) = compare(REPLICAS, changed, 0.0).disagreements
    assert (found.replica, found.example, found.differing) == (2, 3, 1)
    stored, again = str(found).rpartition("stored ")[2].split(", trained again ")
    assert float(stored) != float(again)


@given(st.floats(-3e-3, 3e-3))
def test_within_the_tolerance_and_nowhere_else_engines_may_differ(by: float) -> None:
    found = compare(REPLICAS, moved(by), TOLERANCE)
    largest = float(np.abs(moved(by).astype(np.float64) - SCORES).max())
    assert bool(found.disagreements) == (largest > TOLERANCE)
    assert found.largest_difference == largest


def test_a_score_that_is_not_a_number_agrees_with_nothing() -> None:
    changed = SCORES.copy()
    changed[0, 0] = np.nan
    with np.errstate(invalid="ignore"):
        assert compare(REPLICAS, changed, TOLERANCE).disagreements


def tied(gap: float) -> Any:
    """Replicas whose first two classes are this far apart on every example."""
    found = np.full((M, N, C), 0.1, dtype=np.float32)
    found[:, :, 0], found[:, :, 1] = 0.45 + gap / 2, 0.45 - gap / 2
    return found


@pytest.mark.parametrize(
    ("gap", "agrees"), [(0.5 * TOLERANCE, True), (1.9 * TOLERANCE, True), (3 * TOLERANCE, False)]
)
def test_a_vote_may_change_only_where_it_was_nearly_tied(gap: float, agrees: bool) -> None:
    voted = np.zeros((M, N, C), dtype=np.uint8)
    voted[:, :, 1] = 1  # for the second class, where what is trained again favours the first
    stored = Replicas(scores=voted, numbers=np.arange(M), seed=1, score="vote")
    assert bool(compare(stored, tied(gap), TOLERANCE).disagreements) != agrees
    assert compare(stored, tied(gap), 0.0).disagreements


def test_counts_may_differ_by_as_many_as_were_nearly_tied() -> None:
    counts = np.zeros((N, C), dtype=np.int64)
    counts[:, 0] = M
    changed = counts.copy()
    changed[2] = [M - 1, 1, 0]
    stored = Tally(counts=changed, replicas=M, seed=1)
    again = tied(0.2)
    (found,) = compare(stored, again, TOLERANCE).disagreements
    assert (found.replica, found.example) == (None, 2)
    again[4, 2] = tied(TOLERANCE)[0, 0]
    assert not compare(stored, again, TOLERANCE).disagreements
    assert compare(stored, again, 0.0).disagreements
