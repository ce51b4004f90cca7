"""Snapshots of aggregated updates: what is kept of each, and what a classifier reads from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedward.attacks.inference.auc import Bools, Floats
from fedward.base.validate import InvalidValue, whole
from fedward.core.parameters import ParameterSpec

Features = NDArray[np.float32]


def pool_update(update: Tensor, spec: ParameterSpec, size: int) -> Features:
    """An update as at most ``size`` numbers for each parameter of the model.

        f = g / ‖g‖,    g: the largest |Δ| in each of ``size`` equal pieces of a parameter

    Max-pooling keeps where large models moved most; the norm of an update changes from round to round and
    says little about a property, so it is divided out. A parameter of at most ``size`` numbers is kept.

    Args:
      update: flat, as ``spec`` lays it out.
      spec: of the model.
      size: pieces for each parameter.

    >>> import torch
    >>> from torch import nn
    >>> spec = ParameterSpec.of(nn.Linear(4, 1))
    >>> pool_update(torch.tensor([3.0, -1.0, 0.0, 0.0, -4.0]), spec, 2).round(2)
    array([0.6, 0. , 0.8], dtype=float32)

    After Melis, Song, De Cristofaro and Shmatikov 2019, who pool over the last axis of each layer.
    """
    whole("features of a parameter", size)
    if update.shape != (spec.size,):
        raise InvalidValue(f"update must have shape ({spec.size},), got {tuple(update.shape)}")
    absolute = np.abs(update.detach().to("cpu").numpy().astype(np.float64))
    parts = [absolute[place] for _, place in spec.layers()]
    found = np.concatenate([_pieces(part, size) for part in parts])
    norm = float(np.linalg.norm(found))
    if not np.isfinite(norm):
        raise InvalidValue("update must be finite, got one that is not")
    return (found / norm if norm > 0 else found).astype(np.float32)


def _pieces(values: Floats, size: int) -> Floats:
    if len(values) <= size:
        return values
    starts = np.arange(size) * len(values) // size
    return np.asarray(np.maximum.reduceat(values, starts))


def classify_snapshots(known: Features, truth: Bools, asked: Features, *, trees: int, seed: int) -> Floats:
    """How sure a random forest trained on known snapshots is that each of others shows the property.

    Args:
      known: ``[snapshots, features]``, made by the attacker.
      truth: whether each shows the property.
      asked: the snapshots that were observed.
      trees: of the forest.
      seed: of the forest.

    >>> rng = np.random.default_rng(0)
    >>> truth = np.arange(40) % 2 == 0
    >>> known = (rng.random((40, 3)) + truth[:, None]).astype(np.float32)
    >>> classify_snapshots(known, truth, known[:4], trees=10, seed=0).round().tolist()
    [1.0, 0.0, 1.0, 0.0]

    Breiman 2001; Melis et al. 2019 for 100 trees with 5 snapshots in each leaf.
    """
    whole("trees", trees)
    if known.ndim != 2 or asked.ndim != 2 or known.shape[1] != asked.shape[1]:
        raise InvalidValue(
            "snapshots must be [snapshots, features] with the same features, "
            f"got {known.shape} and {asked.shape}"
        )
    if truth.shape != known.shape[:1] or truth.all() or not truth.any():
        raise InvalidValue(
            f"a classifier needs snapshots with and without the property, got {int(truth.sum())} with it "
            f"of {len(known)}"
        )
    # Slow to import, and only this needs it.
    from sklearn.ensemble import RandomForestClassifier

    leaf = min(5, max(1, len(known) // 10))
    forest: Any = RandomForestClassifier(
        n_estimators=trees, min_samples_leaf=leaf, n_jobs=1, random_state=seed % 2**32
    )
    forest.fit(known, truth)
    sure: Floats = forest.predict_proba(asked)[:, 1]
    return sure
