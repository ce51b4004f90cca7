from __future__ import annotations

import contextlib
import io
import math
from typing import Any

import numpy as np
import pytest

from fedward.base.validate import InvalidType, InvalidValue
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.tally import votes_of


def scores(m: int = 6, n: int = 20, classes: int = 3) -> Any:
    return np.random.default_rng(4).dirichlet([2.0] * classes, (m, n)).astype(np.float32)


def made(**changes: Any) -> Replicas:
    return Replicas(**({"scores": scores(), "numbers": range(6), "seed": 3, "labels": [0] * 20} | changes))


def edited(value: float) -> Any:
    array = scores().astype(np.float64)
    array[2, 5, 1] = value
    return array


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": edited(1.5)}, r"confidences must lie in \[0, 1\], got 1.5"),
        ({"scores": edited(-0.5)}, r"confidences must lie in \[0, 1\], got -0.5"),
        ({"scores": edited(math.nan)}, r"confidences must lie in \[0, 1\], got nan"),
        ({"scores": scores() * np.float32(0.9)}, "confidences must sum to 1, got 0.9 in row 0, example 0"),
        ({"scores": scores()[:0], "numbers": []}, "number of replicas must be at least 1, got 0"),
        ({"scores": scores()[:, :, 0]}, r"must be \[replicas, examples, classes\], got shape \(6, 20\)"),
        ({"scores": scores()[:, :, :1]}, "replicas, examples, classes"),
        ({"numbers": [0, 1, 2, 3, 4, 2]}, "replicas must not share a seed, got number 2 2 times"),
        ({"numbers": [0, 1, 2]}, "replica numbers must be 6 numbers"),
        ({"numbers": [0, 1, 2, 3, 4, -1]}, "replica numbers must be at least 0, got -1"),
        ({"scores": scores()[[0, 1, 2, 3, 4, 1]]}, "same scores from 1 and 5"),
        ({"score": "vote"}, "votes must be 0 or 1"),
        ({"score": "logit"}, "score must be one of confidence, vote"),
        ({"labels": [3] * 20}, "labels must be below 3, got 3"),
        ({"labels": [0] * 19}, "labels must be 20 numbers"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_scores_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        made(**changes)


def test_scores_must_be_numbers() -> None:
    with pytest.raises(InvalidType, match="scores must be numbers"):
        made(scores=scores().astype(str))


def test_equal_votes_are_no_sign_of_a_shared_seed() -> None:
    votes = np.zeros((6, 20, 3), dtype=np.uint8)
    votes[:, :, 1] = 1
    assert len(made(scores=votes, score="vote")) == 6


def test_scores_are_scaled_to_sum_to_one() -> None:
    half = made(scores=scores().astype(np.float16))
    np.testing.assert_allclose(half.scores_of(0, 20).sum(axis=2), 1.0, atol=1e-15)
    assert half.scores_of(0, 20).max() <= 1.0


def test_votes_go_to_the_most_likely_class() -> None:
    votes = made().votes()
    np.testing.assert_array_equal(votes.scores.argmax(axis=2), scores().argmax(axis=2))
    assert votes.score == "vote"
    assert (votes.scores.sum(axis=2) == 1).all()


def test_a_model_without_an_opinion_votes_for_nobody() -> None:
    """A model that is not finite has equal confidences; as a vote for class 0 they would certify class 0."""
    broken = scores()
    broken[4] = np.float32(1 / 3)
    votes = made(scores=broken).votes()
    assert (votes.scores[4] == 0).all()
    assert (votes.scores[:4].sum(axis=2) == 1).all()
    np.testing.assert_array_equal(votes.means(), votes_of(broken) / 6)
    assert Replicas.from_bytes(votes.to_bytes()).digest() == votes.digest()
    with pytest.raises(InvalidValue, match="votes must sum to at most 1, got 2"):
        made(scores=np.ones((6, 20, 2), dtype=np.uint8), score="vote")


def test_the_stored_file_gives_the_replicas_back() -> None:
    replicas = made()
    again = Replicas.from_bytes(replicas.to_bytes())
    assert again.digest() == replicas.digest()
    assert again.scores.dtype == np.float32
    assert replicas.to_bytes() == again.to_bytes()


@pytest.mark.parametrize(
    "changes", [{"seed": 4}, {"draw": "0a"}, {"labels": [1] * 20}, {"scores": scores()[::-1]}]
)
def test_the_digest_changes_with_everything(changes: dict[str, Any]) -> None:
    assert made(**changes).digest() != made().digest()


def test_other_files_are_refused() -> None:
    buffer = io.BytesIO()
    np.savez(buffer, other=np.zeros(3))
    pickled = io.BytesIO()
    np.savez(pickled, scores=np.array([{}], dtype=object))
    for content in (b"", b"PK\x03\x04", made().to_bytes()[:200], buffer.getvalue(), pickled.getvalue()):
        with pytest.raises(InvalidValue, match="stored scores must"):
            Replicas.from_bytes(content)


SCORES = np.random.default_rng(0).dirichlet(np.ones(3), size=(10, 40))


@pytest.mark.parametrize("numbers", [np.arange(10)[::-1], np.arange(10) * 1000 + 3])
def test_replicas_out_of_order_or_picked_from_many_are_refused(numbers: np.ndarray) -> None:
    """The default bound depends on the order, and the best of many runs are no sample."""
    with pytest.raises(InvalidValue, match="must follow each other"):
        Replicas(scores=SCORES, numbers=numbers, seed=7)


def test_damaged_scores_are_refused_or_read_and_never_anything_else() -> None:
    content = Replicas(scores=SCORES, numbers=np.arange(10), seed=7).to_bytes()
    rng = np.random.default_rng(1)
    for _ in range(200):
        damaged = bytearray(content)
        damaged[int(rng.integers(len(content)))] ^= int(rng.integers(1, 256))
        with contextlib.suppress(InvalidValue):
            Replicas.from_bytes(bytes(damaged))


@pytest.mark.parametrize("seed", [np.int32(7), np.int64(7), 2**70])
def test_a_seed_of_any_integer_type_survives_its_file(seed: int) -> None:
    replicas = Replicas(scores=SCORES, numbers=np.arange(10), seed=seed)
    again = Replicas.from_bytes(replicas.to_bytes())
    assert again.seed == int(seed)
    assert again.digest() == replicas.digest()
