"""The last step of every loader: from arrays and a split to a federation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.core.federation import Federation
from fedward.datasets.partition import Split

Arrays = tuple[NDArray[Any], NDArray[Any]]


def federate(
    train: Arrays,
    test: Arrays,
    split: Split,
    rng: np.random.Generator,
    *,
    num_classes: int,
    ids: NDArray[Any] | None = None,
) -> Federation:
    """Gives the training examples to users; the test examples belong to nobody.

    Args:
      train: inputs and labels.
      test: inputs and labels.
      split: who gets what.
      rng: the stream to draw the split from.
      num_classes: how many classes there are.
      ids: whom the data names as the owner of each training example, if it does. A natural split keeps
        these as the names of the users.

    >>> x, y = np.zeros((6, 2), np.float32), np.array([0, 1, 0, 1, 0, 1])
    >>> split = Split(name="natural", users=2)
    >>> ids = np.array([7, 7, 8, 8, 9, 9])
    >>> federation = federate((x, y), (x, y), split, np.random.default_rng(1), num_classes=2, ids=ids)
    >>> federation.num_users, federation.sizes.tolist()
    (2, [2, 2])
    """
    x, y = train
    owners = split.assign(y, rng, ids)
    users: NDArray[Any] = owners if split.name != "natural" or ids is None else ids
    kept = owners >= 0
    if not kept.all():
        x, y, users = x[kept], y[kept], users[kept]
    return Federation.from_arrays(x, y, users, test=test, num_classes=num_classes)
