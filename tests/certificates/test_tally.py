from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.certificates.confidence import Confidence
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.tally import Tally, read_scores


def votes(replicas: int, examples: int, classes: int, seed: int) -> Replicas:
    rng = np.random.default_rng(seed)
    chosen = rng.integers(classes, size=(replicas, examples))
    # Some examples are (nearly) unanimous: the bounds at the ends count most.
    chosen[:, : examples // 2] = 0
    chosen[0, : examples // 3] = classes - 1
    scores = (chosen[:, :, None] == np.arange(classes)).astype(np.uint8)
    return Replicas(scores=scores, numbers=np.arange(replicas), seed=3, score="vote", labels=chosen[0])


@given(st.integers(1, 60), st.integers(1, 9), st.integers(2, 4), st.integers(0, 99), st.booleans())
def test_its_bounds_are_those_of_the_votes_one_by_one(
    replicas: int, examples: int, classes: int, seed: int, simultaneous: bool
) -> None:
    single = votes(replicas, examples, classes, seed)
    rule = Confidence(looks=(replicas,), method="clopper_pearson", simultaneous=simultaneous)
    wanted, found = rule.bounds(single), rule.bounds(Tally.of(single))
    assert found.top.tolist() == wanted.top.tolist()
    np.testing.assert_allclose(found.lower, wanted.lower, rtol=1e-12, atol=0)
    np.testing.assert_allclose(found.upper, wanted.upper, rtol=1e-12, atol=1e-15)


def test_a_model_without_an_opinion_votes_for_nobody() -> None:
    scores = np.array([[[0.5, 0.5]], [[0.2, 0.8]], [[0.9, 0.1]]])
    tally = Tally.of(Replicas(scores=scores, numbers=np.arange(3), seed=1))
    assert tally.counts.tolist() == [[1, 1]]
    assert len(tally) == 3
    assert tally.means().sum() == pytest.approx(2 / 3)


def test_missing_votes_cost_the_lower_bound_and_not_only_the_count() -> None:
    rule = Confidence(looks=(100,), method="clopper_pearson")
    all_voted = rule.bounds(Tally(counts=np.array([[90, 10]]), replicas=100, seed=1))
    some_did_not = rule.bounds(Tally(counts=np.array([[90, 0]]), replicas=100, seed=1))
    assert some_did_not.lower[0] == all_voted.lower[0]
    assert some_did_not.upper[0] == 1 - some_did_not.lower[0]


def test_bytes_and_back() -> None:
    tally = Tally(counts=np.array([[5, 2, 3], [0, 0, 9]]), replicas=10, seed=2**70, labels=np.array([0, 2]))
    content = tally.to_bytes()
    again = read_scores(content)
    assert isinstance(again, Tally)
    assert again.digest() == tally.digest()
    assert again.to_bytes() == content
    assert (again.seed, len(again), again.examples, again.classes, again.score) == (2**70, 10, 2, 3, "vote")


def test_what_lies_beside_a_certificate_may_be_either() -> None:
    single = votes(5, 3, 2, 0)
    assert isinstance(read_scores(single.to_bytes()), Replicas)
    assert isinstance(read_scores(Tally.of(single).to_bytes()), Tally)


@pytest.mark.parametrize("change", ["counts", "replicas", "seed", "labels"])
def test_its_digest_knows_every_part(change: str) -> None:
    parts = {"counts": [[5, 2]], "replicas": 10, "seed": 1, "labels": [0]}
    other = (
        parts
        | {"counts": [[5, 3]], "replicas": 11, "seed": 2, "labels": [1]}
        | {name: value for name, value in parts.items() if name != change}
    )
    assert Tally(**parts).digest() != Tally(**other).digest()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"counts": [[5, 6]]}, "counts must sum to at most 10, one vote for each replica"),
        ({"counts": [[2**63, 2**63]]}, "counts must sum to at most 10"),
        ({"counts": [[-1, 2]]}, "counts must be at least 0, got -1"),
        ({"counts": [5, 2]}, "counts must be [examples, classes], got shape (2,)"),
        ({"counts": [[5]]}, "counts must be [examples, classes], got shape (1, 1)"),
        ({"counts": [[0.5, 0.5]]}, "counts must be whole numbers, got an array of float64"),
        ({"replicas": 0}, "number of replicas must be"),
        ({"seed": -1}, "seed must be"),
        ({"labels": [2]}, "labels must be below 2, got 2"),
        ({"labels": [0, 1]}, "labels must be 1 numbers, got shape (2,)"),
    ],
)
def test_what_is_no_tally_is_refused(changed: dict[str, object], message: str) -> None:
    parts = {"counts": [[5, 2]], "replicas": 10, "seed": 1, "labels": [0]} | changed
    if changed.get("counts") == [[2**63, 2**63]]:
        parts["counts"] = np.full((1, 2), 2**63, dtype=np.uint64)
    with pytest.raises((InvalidValue, InvalidType), match=re.escape(message)):
        Tally(**parts)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["betting", "hoeffding", "empirical_bernstein"])
def test_only_an_exact_bound_can_do_with_counts(method: str) -> None:
    rule = Confidence(looks=(10,), method=method)
    with pytest.raises(InvalidValue, match="method must be clopper_pearson or betting_votes for a tally"):
        rule.bounds(Tally(counts=np.array([[5, 2]]), replicas=10, seed=1))


def test_more_or_fewer_replicas_than_were_planned_are_refused() -> None:
    rule = Confidence(looks=(11,), method="clopper_pearson")
    with pytest.raises(InvalidValue, match="number of replicas must be 11"):
        rule.bounds(Tally(counts=np.array([[5, 2]]), replicas=10, seed=1))


def test_damaged_content_is_refused() -> None:
    content = Tally(counts=np.array([[5, 2]]), replicas=10, seed=1).to_bytes()
    with pytest.raises(InvalidValue, match="stored scores must be an npz file"):
        read_scores(content[: len(content) // 2])
