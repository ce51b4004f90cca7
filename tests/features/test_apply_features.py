from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

import fedward
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.digest import data_digest
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.vocabulary import Vocabulary
from fedward.features import HOG, Given, Preparation, apply_features

DIGITS = fedward.datasets.digits.load(users=20, seed=0)
GRAPH = Preparation(public_users=8, whiten=0.1, rank=20, neighbours=6, dimensions=5)


def test_public_users_leave_the_federation_and_nobody_else_does() -> None:
    found = apply_features(DIGITS, HOG(cells=4), GRAPH, seed=3, name="hog")
    assert found.num_users == 12
    assert set(found.names) < set(DIGITS.names)
    for user, name in enumerate(found.names):
        before = DIGITS.user(list(DIGITS.names).index(name))
        assert found.user(user).y.tolist() == before.y.tolist()
    assert found.public is not None
    assert (found.public.features, found.public.users, found.public.labels) == ("hog", 8, False)
    assert found.test is not None
    assert DIGITS.test is not None
    assert len(found.test) == len(DIGITS.test)


def test_named_users_are_public_and_others_are_not() -> None:
    names = tuple(DIGITS.names[[4, 2]].tolist())
    found = apply_features(DIGITS, Given(), Preparation(public_users=names), seed=3)
    assert set(DIGITS.names) - set(found.names) == set(names)
    with pytest.raises(InvalidValue, match="must be names of users, got 'nobody'"):
        apply_features(DIGITS, Given(), Preparation(public_users=("nobody",)), seed=3)


def test_features_depend_on_no_label_and_on_no_private_example() -> None:
    """What a user trains on is the same whatever anybody private holds, and whatever anything is called."""
    usual = apply_features(DIGITS, HOG(cells=4), GRAPH, seed=3)
    relabelled = Federation(
        Examples(DIGITS.examples.x, (DIGITS.examples.y + 1) % 10),
        DIGITS.offsets,
        DIGITS.names,
        10,
        DIGITS.test,
    )
    same = apply_features(relabelled, HOG(cells=4), GRAPH, seed=3).examples.x
    assert torch.equal(same, usual.examples.x)  # type: ignore[arg-type]
    private = np.isin(DIGITS.names, usual.names)
    victim = int(np.flatnonzero(private)[0])
    assert isinstance(DIGITS.examples.x, torch.Tensor)
    x = DIGITS.examples.x.clone()
    x[int(DIGITS.offsets[victim]) : int(DIGITS.offsets[victim + 1])] = 0.5
    changed = Federation(Examples(x, DIGITS.examples.y), DIGITS.offsets, DIGITS.names, 10, DIGITS.test)
    found = apply_features(changed, HOG(cells=4), GRAPH, seed=3)
    for user in range(1, found.num_users):
        assert torch.equal(found.user(user).x, usual.user(user).x)  # type: ignore[arg-type]
    assert found.test is not None
    assert usual.test is not None
    assert torch.equal(found.test.x, usual.test.x)  # type: ignore[arg-type]


class Counting(HOG):
    """A feature that counts how often it is computed; it says that it is one of ours."""

    calls: ClassVar[list[int]] = []
    __module__ = "fedward.features.hog"

    def compute(self, x: torch.Tensor | Ragged, vocabulary: Vocabulary | None) -> torch.Tensor:
        self.calls.append(len(x))
        return super().compute(x, vocabulary)


def test_features_are_computed_once_for_a_federation() -> None:
    Counting.calls.clear()
    found = [apply_features(DIGITS, Counting(cells=4), GRAPH, seed=3) for _ in range(2)]
    assert len(Counting.calls) == 2  # training and test examples
    assert data_digest(found[0]) == data_digest(found[1])
    apply_features(DIGITS, Counting(cells=4), GRAPH, seed=4)  # other public users
    apply_features(DIGITS, Counting(cells=4), dataclasses.replace(GRAPH, whiten=0.2), seed=3)
    assert len(Counting.calls) == 6


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """A feature of somebody's own that gives what it was told to."""

    given: torch.Tensor
    source: str = "somewhere"
    source_labels: bool = True

    def compute(self, x: torch.Tensor | Ragged, vocabulary: Vocabulary | None) -> torch.Tensor:
        return self.given


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (torch.zeros(3, 2), "one vector for each of"),
        (torch.zeros(len(DIGITS.examples)), "one vector for each of"),
        (torch.full((len(DIGITS.examples), 2), torch.nan), "must be finite"),
    ],
)
def test_features_that_are_none_are_refused(given: torch.Tensor, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        apply_features(DIGITS, Wrong(given=given), seed=0)


def test_what_is_no_feature_and_what_is_too_much_is_refused() -> None:
    with pytest.raises(InvalidType, match="must have source, source_labels and compute"):
        apply_features(DIGITS, object(), seed=0)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="fewer than the users, 20, got 20"):
        apply_features(DIGITS, Given(), Preparation(public_users=20), seed=0)
    once = apply_features(DIGITS, Given(), Preparation(public_users=2), seed=0)
    with pytest.raises(InvalidValue, match="computed once"):
        apply_features(once, Given(), seed=0)
