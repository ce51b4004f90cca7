"""Directions in which public examples say that a model will move: for the server's projection."""

from __future__ import annotations

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.base.validate import InvalidValue, whole
from fedward.core.examples import Examples
from fedward.core.parameters import ParameterSpec

Directions = NDArray[np.float32]


def feature_directions(vectors: Tensor, rank: int) -> Directions:
    """The r directions that hold most of public feature vectors, ``[r, d]``; no label is used.

    The weights of a class in a linear head that gradients or class means have moved are sums of feature
    vectors, so they lie where these lie. Save them for ``server = {name = "projection"}`` with ``np.save``.

    >>> public = torch.tensor([[3.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> abs(feature_directions(public, rank=2)).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if vectors.ndim != 2:
        raise InvalidValue(f"vectors must be one for each example, got shape {tuple(vectors.shape)}")
    return _largest(vectors.double(), rank)


def gradient_directions(model: nn.Module, examples: Examples, rank: int) -> Directions:
    """The r directions that hold most of the gradients of public examples, ``[r, parameters]``.

    They are those of the cross-entropy at the given model, which uses the examples' labels: say so with
    ``source_labels = true``. All gradients are held in memory at once.

    Zhou, Wu and Banerjee 2021.
    """
    model, spec = copy.deepcopy(model).eval(), ParameterSpec.of(model)
    x, y = examples.batch(torch.arange(len(examples)))
    rows, parameters = torch.zeros(len(examples), spec.size), list(model.parameters())
    for place in range(len(examples)):
        loss = torch.nn.functional.cross_entropy(model(x[place : place + 1]), y[place : place + 1])
        found = torch.autograd.grad(loss, parameters, allow_unused=True)
        flat = [
            torch.zeros(one.numel()) if own is None else own.flatten()
            for one, own in zip(parameters, found, strict=True)
        ]
        rows[place] = torch.cat(flat)
    return _largest(rows.double(), rank)


def _largest(rows: Tensor, rank: int) -> Directions:
    if whole("rank", rank) > min(rows.shape):
        raise InvalidValue(
            f"rank must be at most {min(rows.shape)}, the number of directions of the public examples, got "
            f"{rank}"
        )
    _, _, found = torch.linalg.svd(rows, full_matrices=False)
    # A direction is one but for its sign.
    kept = found[:rank]
    kept = kept * kept.gather(1, kept.abs().argmax(1, keepdim=True)).sign()
    return np.ascontiguousarray(kept.float().numpy())
