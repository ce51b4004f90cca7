from __future__ import annotations

import numpy as np
import torch

from fedward.datasets import DATASETS, digits, mnist
from fedward.datasets.federate import federate
from fedward.datasets.partition import Split

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
        assert examples.x[:, 0].tolist() == X[owners == user, 0].tolist()
        assert examples.y.tolist() == Y[owners == user].tolist()
    assert federation.test is not None
    assert federation.test.x[:, 0].tolist() == [100, 101]
    assert federation.num_classes == 3


def test_a_natural_split_keeps_the_names_and_drops_the_users_not_chosen() -> None:
    ids = np.repeat(np.array(["eve", "ann", "bob", "dan"]), 3)
    federation = federate(
        (X, Y), TEST, Split(name="natural", users=2), np.random.default_rng(0), num_classes=3, ids=ids
    )
    assert federation.num_users == 2
    assert len(federation.examples) == 6
    for user, name in enumerate(federation.names):
        assert federation.user(user).x[:, 0].tolist() == X[ids == name, 0].tolist()
        assert federation.user(user).y.tolist() == Y[ids == name].tolist()


def test_ids_are_not_used_by_other_splits() -> None:
    ids = np.repeat([7, 8], 6)
    federation = federate(
        (X, Y), TEST, Split(name="iid", users=3), np.random.default_rng(0), num_classes=3, ids=ids
    )
    assert federation.names.tolist() == [0, 1, 2]


def test_data_sets_are_found_by_name() -> None:
    assert DATASETS["digits"] is digits.load
    assert DATASETS["mnist"] is mnist.load
