"""The steps of the Gram form, for one job or for several alike at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedward.backends.engines.gram_tables import Table, pad_to_vectors
from fedward.local.sgd import SGD

# Above it OpenBLAS may split a product between threads.
_MOST_OPERATIONS = 2**18
# What the arrays of jobs that are walked together may take: they should stay in the cache of a core.
_MOST_BYTES = 2**20
_BLOCK = pad_to_vectors(1)

_AHEAD = 64

_Array = NDArray[Any]
_Product = Callable[[_Array, _Array, _Array], None]
_Gradient = Callable[[NDArray[np.int64], float, bool], None]
"""Writes the gradients of all jobs, from the examples of each job's batch, a, and whether A has moved."""


def most_together(classes: int, n: int, trainer: SGD, itemsize: int) -> int:
    """How many jobs of n examples each may be walked at once.

    >>> most_together(10, 63, SGD(learning_rate=0.1, batch_size=60, epochs=10), 4)
    28
    """
    if not _by_one_thread(classes, n, trainer):
        return 1
    wide = pad_to_vectors(n)
    return max(1, _MOST_BYTES // (itemsize * wide * (wide + 8 * classes)))


def walk(
    tables: Sequence[Table], first: Tensor, trainer: SGD, rngs: Sequence[np.random.Generator]
) -> tuple[Tensor, float]:
    """All steps of jobs that have one trainer and equally many examples; gives every A, and a - 1.

    A job's bits are the same whoever walks beside it. Products are one call of BLAS for each job, with the
    same shapes and strides for any number of jobs. What numpy does to single elements is rounded exactly,
    wherever they lie. torch's softmax goes job by job. Its step goes over all jobs, in which a compiler may
    fuse products with sums in whole vectors and not at an odd end: by their padding there is no odd end.

    Args:
      tables: one for each job.
      first: ``[jobs, classes, padded(n)]``, the scores W_0 X^T + b_0; zero from column n on.
      rngs: each job's own.
    """
    jobs, classes, wide = first.shape
    n = len(tables[0].labels)
    # The last block is a: it moves as A does, without a gradient, and is the same for all jobs.
    weights = torch.zeros(first.numel() + _BLOCK, dtype=first.dtype)
    weights[-_BLOCK:] = 1.0
    slope = torch.zeros_like(weights)
    velocity = torch.zeros_like(weights) if trainer.momentum else None
    coefficients, own = (flat[:-_BLOCK].view(jobs, classes, wide) for flat in (weights, slope))
    product = _products if _by_one_thread(classes, n, trainer) else _product
    prepare = _scoring_all if _scores_all(n, trainer) else _scoring_batches
    gradient = prepare(tables, first.numpy(), coefficients.numpy(), own.numpy(), product)
    scale = weights.numpy()
    for step, batch in enumerate(_batches(n, wide, trainer, rngs)):
        gradient(batch, float(scale[-1]), step > 0)
        trainer.advance(weights, slope, velocity)
    return coefficients, float(scale[-1]) - 1.0


def _batches(
    n: int, wide: int, trainer: SGD, rngs: Sequence[np.random.Generator]
) -> Iterator[NDArray[np.int64]]:
    """Where the examples of each step stand if those of all jobs stand in one row, ``[jobs, batch]``."""
    places = np.arange(0, len(rngs) * wide, wide)[:, None]
    steps = [trainer.indices(n, rng) for rng in rngs]
    # Some steps ahead, because putting them together takes two calls for any number of steps.
    while any(ahead := [list(itertools.islice(own, _AHEAD)) for own in steps]):
        together = np.stack([np.concatenate(own) for own in ahead]) + places
        ends = list(itertools.accumulate((len(index) for index in ahead[0]), initial=0))
        yield from (together[:, start:end] for start, end in itertools.pairwise(ends))


def _scores_all(n: int, trainer: SGD) -> bool:
    """If a batch is most of the examples it is cheaper to score all and to give the others no share."""
    return n <= 2 * trainer.batch_size


def _by_one_thread(classes: int, n: int, trainer: SGD) -> bool:
    wide = pad_to_vectors(n)
    columns = wide if _scores_all(n, trainer) else pad_to_vectors(trainer.batch_size)
    # A product with a vector is another routine of BLAS, with limits of its own.
    return classes > 1 and classes * wide * columns <= _MOST_OPERATIONS


def _products(left: _Array, right: _Array, out: _Array) -> None:
    np.matmul(left, right, out=out)


def _product(left: _Array, right: _Array, out: _Array) -> None:
    """The same for one job, by the BLAS that heeds torch's number of threads."""
    one, other, both = (torch.from_numpy(array[0]) for array in (left, right, out))
    torch.mm(one, other, out=both)


def _scoring_all(
    tables: Sequence[Table], first: _Array, coefficients: _Array, own: _Array, product: _Product
) -> _Gradient:
    jobs, _, wide = first.shape
    kernels, targets = _stack([t.kernel for t in tables]), _stack([t.targets for t in tables])
    scores = torch.empty(first.shape, dtype=tables[0].targets.dtype)
    residual, scaled = scores.numpy(), np.empty_like(first)
    share = np.empty((jobs, 1, wide), first.dtype)
    shares = share.reshape(-1)

    def gradient(batch: NDArray[np.int64], scale: float, moved: bool) -> None:
        if moved:
            product(coefficients, kernels, residual)
            np.add(residual, np.multiply(first, scale, out=scaled), out=residual)
        else:
            residual[...] = first
        torch.softmax(scores, 1, out=scores)
        np.subtract(residual, targets, out=residual)
        shares.fill(0.0)
        shares[batch] = 1 / batch.shape[1]
        np.multiply(residual, share, out=own)

    return gradient


def _scoring_batches(
    tables: Sequence[Table], first: _Array, coefficients: _Array, own: _Array, product: _Product
) -> _Gradient:
    jobs, classes, wide = first.shape
    # X X^T is symmetric, and rows are faster to gather than columns.
    kernels = _stack([t.kernel for t in tables]).reshape(-1, wide)
    targets = _stack([t.targets for t in tables])
    start, target = (values.transpose(0, 2, 1).reshape(-1, classes) for values in (first, targets))
    columns = own.transpose(0, 2, 1)

    def gradient(batch: NDArray[np.int64], scale: float, moved: bool) -> None:
        size = batch.shape[1]
        # Any example fills a batch up; nothing is done with its residuals.
        rows = np.concatenate([batch, np.repeat(batch[:, :1], pad_to_vectors(size) - size, axis=1)], axis=1)
        scores = torch.empty(jobs, classes, pad_to_vectors(size), dtype=tables[0].targets.dtype)
        residual = scores.numpy()
        if moved:
            product(coefficients, kernels.take(rows, axis=0).transpose(0, 2, 1), residual)
            np.add(residual, (start.take(rows, axis=0) * scale).transpose(0, 2, 1), out=residual)
        else:
            residual[...] = start.take(rows, axis=0).transpose(0, 2, 1)
        torch.softmax(scores, 1, out=scores)
        slope = (residual[:, :, :size].transpose(0, 2, 1) - target.take(batch, axis=0)) / size
        own.fill(0.0)
        columns[np.divmod(batch, wide)] = slope

    return gradient


def _stack(tensors: Sequence[Tensor]) -> _Array:
    """All in one; without a copy if there is one only, which may be large."""
    return (tensors[0].unsqueeze(0) if len(tensors) == 1 else torch.stack(list(tensors))).numpy()
