"""The last step of every loader: from arrays and a split to a federation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.vocabulary import Vocabulary
from fedward.datasets.partition import Split

Inputs = NDArray[Any] | Ragged
Arrays = tuple[Inputs, NDArray[Any]]


def federate(
    train: Arrays,
    test: Arrays,
    split: Split,
    rng: np.random.Generator,
    *,
    num_classes: int,
    ids: NDArray[Any] | None = None,
    scale: Callable[[NDArray[Any]], NDArray[Any]] | None = None,
    vocabulary: Vocabulary | None = None,
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
      scale: makes floats of the inputs, after they were put in order: bytes take a quarter of the memory.
      vocabulary: the words that tokens stand for.

    >>> x, y = np.zeros((6, 2), np.float32), np.array([0, 1, 0, 1, 0, 1])
    >>> split = Split(name="natural", users=2)
    >>> ids = np.array([7, 7, 8, 8, 9, 9])
    >>> federation = federate((x, y), (x, y), split, np.random.default_rng(1), num_classes=2, ids=ids)
    >>> federation.num_users, federation.sizes.tolist()
    (2, [2, 2])
    """
    x, y = train
    order, users = arrange(y, split, rng, ids)
    x_test, y_test = test
    ordered = _select(x, order)
    return Federation.from_arrays(
        _scale(ordered, scale),
        y[order],
        users,
        test=(_scale(x_test, scale), y_test),
        num_classes=num_classes,
        vocabulary=vocabulary,
        copy=False,  # they were read for this
    )


def arrange(
    labels: NDArray[Any], split: Split, rng: np.random.Generator, ids: NDArray[Any] | None = None
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Which example stands at each place of the federation, and who owns it there.

    The same arguments and the same stream give the same order: what else is known of the examples can be
    put in the federation's order with it.

    >>> order, users = arrange(np.zeros(4), Split(name="iid", users=2), np.random.default_rng(0))
    >>> sorted(order.tolist()), users.tolist()
    ([0, 1, 2, 3], [0, 0, 1, 1])
    """
    owners = split.assign(labels, rng, ids)
    order = np.argsort(owners, kind="stable")
    order = order[np.searchsorted(owners[order], 0) :]  # -1: nobody that was chosen owns it
    named = split.name == "natural" and ids is not None
    return order, (np.asarray(ids)[order] if named else owners[order])


def gather(
    train: Arrays,
    test: Arrays,
    owners: NDArray[np.int64],
    names: NDArray[Any],
    *,
    num_classes: int,
    vocabulary: Vocabulary | None = None,
) -> Federation:
    """A federation of examples that are in order, whose owners are given as ascending places in ``names``.

    For very many examples: a name beside each would take more memory than the examples do. Names that own
    nothing are no users.

    >>> x, y = np.zeros((3, 2), np.float32), np.array([0, 1, 0])
    >>> names = np.array(["ann", "bob", "eve"])
    >>> federation = gather((x, y), (x, y), np.array([0, 0, 2]), names, num_classes=2)
    >>> federation.names.tolist(), federation.sizes.tolist()
    (['ann', 'eve'], [2, 1])
    """
    counts = np.bincount(owners, minlength=len(names))
    present = np.flatnonzero(counts)
    offsets = np.concatenate([[0], np.cumsum(counts[present])])
    return Federation(
        Examples.from_arrays(*train, copy=False),
        torch.from_numpy(offsets),
        names[present],
        num_classes,
        Examples.from_arrays(*test, copy=False),
        vocabulary,
    )


def _select(x: Inputs, order: NDArray[np.int64]) -> Inputs:
    return x.select(torch.from_numpy(order)) if isinstance(x, Ragged) else x[order]


def _scale(x: Inputs, scale: Callable[[NDArray[Any]], NDArray[Any]] | None) -> Inputs:
    return x if scale is None or isinstance(x, Ragged) else scale(x)


def scale_to_unit(images: NDArray[Any]) -> NDArray[np.float32]:
    """Bytes as floats from 0 to 1: x / 255."""
    scaled: NDArray[np.float32] = np.divide(images, 255, dtype=np.float32)
    return scaled
