"""Copies of one training are refused wherever they can be told from chance, and honest replicas never are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from certificates.small_certificate import bound, setting
from fedward.base.validate import InvalidValue
from fedward.certificates import scores_file
from fedward.certificates.certificate import certify
from fedward.certificates.certificate_file import dumps, loads
from fedward.certificates.checking import check
from fedward.certificates.copies import _SHARED_BITS
from fedward.certificates.replica_scores import Replicas

RNG = np.random.default_rng(7)


def drawn(m: int, n: int, classes: int, kind: str = "f4") -> Any:
    """Confidences of honest replicas, rounded as they are stored."""
    return np.random.default_rng(m * n).dirichlet([3.0] + [1.0] * (classes - 1), (m, n)).astype(kind)


def made(scores: Any, **changes: Any) -> Replicas:
    return Replicas(**{"scores": scores, "numbers": np.arange(len(scores)), "seed": 3} | changes)


@pytest.mark.parametrize(
    ("m", "n", "classes", "kind"),
    [
        *((2, 3, 2, "f4"), (12, 4, 2, "f4"), (12, 1, 10, "f4"), (1000, 4, 2, "f4"), (10_000, 5, 2, "f4")),
        *((2, 1, 2, "f8"), (12, 2, 2, "f8"), (1000, 1, 3, "f8"), (6, 40, 4, "f2"), (200, 60, 3, "f2")),
    ],
)
def test_a_copy_is_refused_however_small_the_test_set(m: int, n: int, classes: int, kind: str) -> None:
    scores = drawn(m, n, classes, kind)
    honest = made(scores.copy())
    scores[m - 1] = scores[m // 3]
    with pytest.raises(
        InvalidValue, match=f"the same scores from {m // 3} and {m - 1}: copies of one training"
    ):
        made(scores)
    with pytest.raises(InvalidValue, match="the same scores from 0 and 1"):
        made(np.repeat(scores[:1], m, axis=0))
    assert honest.copies_told


def test_a_copy_is_refused_whatever_type_its_scores_are_kept_in() -> None:
    scores = drawn(12, 4, 2).astype(np.float64)
    scores[5] = scores[2]
    with pytest.raises(InvalidValue, match="the same scores from 2 and 5"):
        made(scores)


def test_chance_agrees_on_few_coarse_scores_and_is_not_refused() -> None:
    """A birthday problem: of 10,000 honest replicas some have the same one confidence in single precision."""
    top = RNG.uniform(0.5, 1.0, size=10_000).astype(np.float32)
    scores = np.stack([top, np.float32(1) - top], axis=1)[:, None, :]
    assert len(np.unique(top)) < len(top)
    assert not made(scores).copies_told


def test_half_precision_is_known_in_any_type() -> None:
    scores = drawn(2000, 1, 2, "f2").astype(np.float64)
    assert len(np.unique(scores.reshape(2000, -1), axis=0)) < 2000
    assert not made(scores).copies_told


def test_scores_that_were_rounded_for_a_text_agree_by_chance() -> None:
    scores = np.round(drawn(400, 2, 2, "f8"), 2)
    scores[:, :, 0] = np.round(1 - scores[:, :, 1], 2)
    for kind in ("f4", "f8"):
        assert not made(scores.astype(kind)).copies_told
    many = np.round(drawn(12, 40, 2, "f8"), 4)
    many[7] = many[3]
    with pytest.raises(InvalidValue, match="the same scores from 3 and 7"):
        made(many)


def test_models_that_are_sure_or_have_no_opinion_may_agree() -> None:
    scores = drawn(12, 20, 3)
    for broken, row in ((3, np.float32(1 / 3)), (4, np.eye(3, dtype=np.float32)[np.arange(20) % 3])):
        scores[broken] = row
        scores[broken + 5] = row
    assert not made(scores).copies_told
    assert len(made(scores)) == 12
    # One example with an opinion is not enough in single precision, four are.
    for examples, refused in ((1, False), (4, True)):
        same = scores.copy()
        same[4, :examples] = same[9, :examples] = drawn(1, examples, 2 + 1)[0]
        if refused:
            with pytest.raises(InvalidValue, match="the same scores from 4 and 9"):
                made(same)
        else:
            assert len(made(same)) == 12


def test_equal_votes_are_not_copies_and_no_copy_is_told_among_them() -> None:
    votes = made(drawn(12, 20, 3)).votes()
    again = made(np.repeat(votes.scores[:1], 12, axis=0), score="vote")
    assert not votes.copies_told
    assert not again.copies_told


@pytest.mark.parametrize(("kind", "bits"), [("f2", 11), ("f4", 24)])
def test_a_score_that_moves_by_a_thousandth_agrees_no_more_often_than_is_counted(
    kind: str, bits: int
) -> None:
    """Brute force for one value: 4 million pairs of independent trainings."""
    rng = np.random.default_rng(1)
    for centre in (0.5, 0.51, 0.03, 0.999):
        moved = (centre * (1 + 2.0**-_SHARED_BITS * rng.normal(size=(2, 1_000_000)))).astype(kind)
        agreeing = float((moved[0] == moved[1]).mean())
        most = 2.0 ** (_SHARED_BITS - bits)
        assert agreeing <= most + 6 * math.sqrt(most / 1e6)


@pytest.mark.parametrize("first", [1, 5])
def test_replicas_begin_with_number_0(first: int) -> None:
    """Whoever leaves the first ones out has seen them."""
    with pytest.raises(InvalidValue, match=f"must follow each other from 0 on, got {first} in place 0"):
        made(drawn(6, 20, 3), numbers=np.arange(first, first + 6))
    with pytest.raises(InvalidValue, match=r"from 0 on, got 4 in place 3.*left out"):
        made(drawn(6, 20, 3), numbers=[0, 1, 2, 4, 5, 6])


def test_a_certificate_of_replicas_without_the_first_does_not_hold() -> None:
    """As a file of commit fc34a4a may have them."""
    own = bound()
    assert own.labels is not None
    arrays = {"scores": own.scores, "numbers": own.numbers + 5, "seed": np.array("7"), "labels": own.labels}
    content = scores_file.to_bytes(arrays | {"score": np.array("confidence"), "draw": np.array(own.draw)})
    found = check(loads(dumps(certify(setting(), own), "scores.npz")), content)
    assert (
        "the stored scores are refused: replica numbers must follow each other from 0 on" in found.problems[0]
    )
