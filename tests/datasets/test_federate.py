from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.core.examples import Ragged
from fedward.core.vocabulary import Vocabulary
from fedward.datasets import DATASETS, digits, mnist
from fedward.datasets.federate import arrange, federate, gather, scale_to_unit
from fedward.datasets.partition import Split
from support import flat_inputs

X = np.arange(12, dtype=np.float32)[:, None]
Y = np.array([0, 1, 2, 2, 1, 0, 1, 1, 2, 0, 0, 1])
TEST = X[:2] + 100, Y[:2]


def test_every_example_goes_to_its_owner_together_with_its_label() -> None:
    split = Split(name="iid", users=4)
    federation = federate((X, Y), TEST, split, np.random.default_rng(0), num_classes=3)
    owners = split.assign(Y, np.random.default_rng(0))
    assert isinstance(federation.examples.x, torch.Tensor)
    for user in range(4):
        examples = federation.user(user)
        assert flat_inputs(examples)[:, 0].tolist() == X[owners == user, 0].tolist()
        assert examples.y.tolist() == Y[owners == user].tolist()
    assert federation.test is not None
    assert flat_inputs(federation.test)[:, 0].tolist() == [100, 101]
    assert federation.num_classes == 3


def test_a_natural_split_keeps_the_names_and_drops_the_users_not_chosen() -> None:
    ids = np.repeat(np.array(["eve", "ann", "bob", "dan"]), 3)
    federation = federate(
        (X, Y), TEST, Split(name="natural", users=2), np.random.default_rng(0), num_classes=3, ids=ids
    )
    assert federation.num_users == 2
    assert len(federation.examples) == 6
    for user, name in enumerate(federation.names):
        assert flat_inputs(federation.user(user))[:, 0].tolist() == X[ids == name, 0].tolist()
        assert federation.user(user).y.tolist() == Y[ids == name].tolist()


def test_ids_are_not_used_by_other_splits() -> None:
    ids = np.repeat([7, 8], 6)
    federation = federate(
        (X, Y), TEST, Split(name="iid", users=3), np.random.default_rng(0), num_classes=3, ids=ids
    )
    assert federation.names.tolist() == [0, 1, 2]


def test_ragged_examples_go_with_their_owner_and_keep_their_vocabulary() -> None:
    texts = Ragged.from_sequences([[2 + i % 3] * (1 + i % 4) for i in range(12)])
    vocabulary = Vocabulary(("a", "b", "c"))
    split = Split(name="iid", users=4)
    federation = federate(
        (texts, Y), (texts, Y), split, np.random.default_rng(0), num_classes=3, vocabulary=vocabulary
    )
    owners = split.assign(Y, np.random.default_rng(0))
    assert federation.vocabulary is vocabulary
    for user in range(4):
        examples = federation.user(user)
        assert isinstance(examples.x, Ragged)
        own = np.flatnonzero(owners == user)
        assert examples.x.offsets.diff().tolist() == [1 + i % 4 for i in own]
        assert examples.y.tolist() == Y[own].tolist()


def test_bytes_are_scaled_after_they_were_put_in_order() -> None:
    seen = []

    def scale(x: Any) -> Any:
        seen.append((x.dtype, len(x)))
        return scale_to_unit(x)

    pixels = (X * 20).astype(np.uint8)
    federation = federate(
        (pixels, Y), (pixels[:2], Y[:2]), Split(name="iid", users=3), np.random.default_rng(0),
        num_classes=3, scale=scale,
    )  # fmt: skip
    assert seen == [(np.uint8, 12), (np.uint8, 2)]
    assert sorted(federation.examples.x[:, 0].tolist()) == pytest.approx([i * 20 / 255 for i in range(12)])  # type: ignore[index]


@given(st.lists(st.sampled_from("xyz"), min_size=3, max_size=20), st.data())
def test_the_arrangement_is_that_of_the_federation(ids: list[str], data: st.DataObject) -> None:
    n = len(ids)
    name = data.draw(st.sampled_from(["iid", "natural", "dirichlet"]))
    users = data.draw(st.integers(1, len(set(ids))))
    split = Split(name=name, users=users, alpha=5.0 if name == "dirichlet" else None)
    x, y = np.arange(n, dtype=np.float32)[:, None], np.arange(n) % 2
    federation = federate((x, y), (x, y), split, np.random.default_rng(1), num_classes=2, ids=np.array(ids))
    order, owners = arrange(y, split, np.random.default_rng(1), np.array(ids))
    assert federation.examples.x[:, 0].tolist() == order.tolist()  # type: ignore[index]
    assert np.repeat(federation.names, federation.sizes.numpy()).tolist() == owners.tolist()
    if name == "natural":
        assert owners.tolist() == [ids[i] for i in order]


def test_gathered_examples_belong_to_their_names_and_nobody_is_empty() -> None:
    names = np.array(["ann", "bob", "eve", "joe"])
    owners = np.array([1, 1, 1, 3])
    federation = gather((X[:4], Y[:4]), TEST, owners, names, num_classes=3)
    assert federation.names.tolist() == ["bob", "joe"]
    assert federation.sizes.tolist() == [3, 1]
    assert federation.user(1).x.tolist() == [[3.0]]  # type: ignore[union-attr]


def test_data_sets_are_found_by_name() -> None:
    assert DATASETS["digits"] is digits.load
    assert DATASETS["mnist"] is mnist.load
