"""Local SGD of linear models without touching the features in the loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from fedward.backends.engines.gram_tables import KeptTables, Table, pad_to_vectors
from fedward.backends.engines.gram_walk import most_together, walk
from fedward.backends.engines.hooks import has_global_hooks, is_changed
from fedward.base.randomness import from_local_seed
from fedward.core.examples import Examples
from fedward.core.types import Job
from fedward.local.sgd import SGD

LINEAR_MODEL = "the model is linear: in the Gram form under plain SGD, by PyTorch under other trainers"
"""Why the native engine does not train it, for people."""

# What a step of the plain loop costs beyond one of the Gram form, as operations of a matrix product.
_STEP = 5e6
_MOST_BYTES = 64 * 2**20
_CACHED_BYTES = 64 * 2**20


class Gram:
    """Trains a model W x + b with softmax and cross-entropy by ``SGD``, exactly, in the span of the data.

        W = a W_0 + A X,    b = a b_0 + A 1,    scores = a S_0 + A (X X^T + 1),    S_0 = W_0 X^T + b_0

    Every step of SGD, with momentum and weight decay, moves a and A only, so that a step costs classes x
    examples x batch operations and no longer classes x features x batch. What is left is so little that the
    calls take longer than the work, so jobs that are alike are trained at once (``groups``). Which jobs are
    trained so depends on the model, the trainer and the shapes alone, and a job gives the same bits whatever
    ran before it or runs beside it. The update differs from the plain loop's by rounding.

    The first step needs no X X^T, since A is zero before it; where it is the only one nothing is computed.
    Otherwise X X^T depends on the data alone and is kept for the users that came last, up to 64 MB. It is
    used again only if the examples lie in the same memory, torch saw nobody write to them, the labels are
    equal, and so is the product of every example with a fixed random vector, since numpy can write without
    torch's notice.
    """

    def __init__(self, linear: nn.Linear, *, flattens: bool) -> None:
        self._classes, self._features = linear.weight.shape
        self._flattens = flattens
        self._dtype = linear.weight.dtype
        self._size = sum(p.numel() for p in linear.parameters())
        self._biased = linear.bias is not None
        # The last row is the random vector that tells whether examples are still what they were.
        self._heads = torch.empty(self._classes + 1, self._features, dtype=self._dtype)
        self._heads[-1] = torch.from_numpy(np.random.default_rng(0).standard_normal(self._features))
        self._kept = KeptTables(_CACHED_BYTES)

    @classmethod
    def of(cls, module: nn.Module) -> Gram | None:
        """The engine for a module that is one linear layer and nothing else; None for all others."""
        found = _only_linear(module)
        return None if found is None else cls(found[0], flattens=found[1])

    def suits(self, job: Job, examples: Examples) -> bool:
        """Whether this job is trained here; all others, wrong ones too, belong to the plain loop."""
        x, y, trainer = examples.x, examples.y, job.trainer
        if type(trainer) is not SGD or not isinstance(x, Tensor) or has_global_hooks():
            return False
        n = x.shape[0]
        if x.dtype != self._dtype or y.dtype != torch.int64 or y.shape != (n,) or n == 0:
            return False
        if x.device.type != "cpu" or y.device.type != "cpu":
            return False
        if x.numel() != n * self._features or (x.ndim != 2 and not (self._flattens and x.ndim > 2)):
            return False
        if job.parameters.shape != (self._size,) or job.parameters.dtype != self._dtype:
            return False
        # X X^T takes 2 n² p operations. A user that is sampled once has nobody to share them with.
        operations = 2 * n * n * self._features
        if n > 2 * self._features or operations > _STEP * trainer.num_steps(n) or 16 * n * n > _MOST_BYTES:
            return False
        # As unsigned numbers those below zero are the largest.
        return bool(y.numpy().view(np.uint64).max() < self._classes)

    def groups(self, jobs: Sequence[Job], examples: Sequence[Examples]) -> Iterator[tuple[int, ...]]:
        """The places of the jobs that suit, those together that may be trained at once."""
        alike: dict[tuple[SGD, int], list[int]] = {}
        for place, (job, own) in enumerate(zip(jobs, examples, strict=True)):
            if self.suits(job, own):
                assert isinstance(job.trainer, SGD)
                alike.setdefault((job.trainer, own.y.shape[0]), []).append(place)
        for (trainer, n), places in alike.items():
            most = most_together(self._classes, n, trainer, self._dtype.itemsize)
            yield from (tuple(places[i : i + most]) for i in range(0, len(places), most))

    def train(self, jobs: Sequence[Job], examples: Sequence[Examples]) -> list[Tensor]:
        """The updates of one of the groups; of each job the same bits as alone."""
        trainer, c, n, p = jobs[0].trainer, self._classes, len(examples[0]), self._features
        assert isinstance(trainer, SGD)
        updates = [torch.empty(self._size, dtype=self._dtype) for _ in jobs]
        with torch.inference_mode():
            features = [own.x.reshape(n, p) for own in examples if isinstance(own.x, Tensor)]
            first = torch.zeros(len(jobs), c, pad_to_vectors(n), dtype=self._dtype)
            tables, sent = [], None
            lone = trainer.num_steps(n) == 1
            for job, own, x, scores in zip(jobs, examples, features, first[:, :, :n], strict=True):
                if job.parameters is not sent:
                    sent = job.parameters
                    weights, bias = self._split(sent)
                    self._heads[:c] = weights
                    shift = bias.unsqueeze(1) if self._biased else 0
                products = torch.mm(self._heads, x.t())
                if lone:
                    tables.append(Table.of_labels(own, c, self._dtype))
                else:
                    tables.append(self._table(own, x, products[c], keep=job.examples is None))
                torch.add(products[:c], shift, out=scores)
            with np.errstate(all="ignore"):  # a training that diverges gives a row that is not finite
                rngs = [from_local_seed(job.draw_seed()) for job in jobs]
                coefficients, grown = walk(tables, first, trainer, rngs)
            for job, x, moves, update in zip(jobs, features, coefficients[:, :, :n], updates, strict=True):
                weights, bias = self._split(job.parameters)
                new_weights, new_bias = self._split(update)
                torch.addmm(weights, moves, x, beta=grown, out=new_weights)
                if self._biased:
                    torch.add(moves.sum(1), bias, alpha=grown, out=new_bias)
        return updates

    def _split(self, parameters: Tensor) -> tuple[Tensor, Tensor]:
        size = self._classes * self._features
        return parameters[:size].view(self._classes, self._features), parameters[size:]

    def _table(self, examples: Examples, x: Tensor, marks: Tensor, *, keep: bool) -> Table:
        found = self._kept.find(examples, marks) if keep else None
        if found is not None:
            return found
        wide = pad_to_vectors(len(x))
        kernel = torch.zeros(wide, wide, dtype=self._dtype)
        products = kernel[: len(x), : len(x)]
        torch.mm(x, x.t(), out=products)
        if self._biased:
            array = products.numpy()
            np.add(array, 1, out=array)  # the bias is the weight of a feature that is always 1
        table = Table.of_labels(examples, self._classes, self._dtype, kernel=kernel, marks=marks.clone())
        if keep:
            self._kept.add(examples, table)
        return table


def is_linear(module: nn.Module) -> bool:
    """Whether the module is one linear layer and nothing else.

    >>> is_linear(nn.Sequential(nn.Flatten(), nn.Linear(4, 2)))
    True
    >>> is_linear(nn.Sequential(nn.Linear(4, 2), nn.ReLU()))
    False
    """
    return _only_linear(module) is not None


def _only_linear(module: nn.Module) -> tuple[nn.Linear, bool] | None:
    """The one layer there is, and whether its input is flattened before."""
    layers = list(module) if type(module) is nn.Sequential else [module]
    kinds = [type(layer) for layer in layers]
    if kinds.count(nn.Linear) != 1 or not set(kinds) <= {nn.Linear, nn.Flatten, nn.Identity}:
        return None
    if any(is_changed(layer) for layer in [module, *layers]):
        return None
    if any(isinstance(layer, nn.Flatten) and (layer.start_dim, layer.end_dim) != (1, -1) for layer in layers):
        return None
    place = kinds.index(nn.Linear)
    linear = layers[place]
    assert isinstance(linear, nn.Linear)
    weight = linear.weight
    if weight.dtype not in (torch.float32, torch.float64):
        return None
    if not all(p.requires_grad and p.dtype == weight.dtype for p in linear.parameters()):
        return None
    return linear, nn.Flatten in kinds[:place]
