"""Accuracy, loss and confidences of a model on test examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedward.backends.engines.gram import is_linear
from fedward.backends.engines.hooks import has_global_hooks
from fedward.backends.engines.threads import single_threaded
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.parameters import FlatModule

# As many examples as keep a convolutional network's activations in the cache; a linear model has none.
_LINEAR, _OTHER = 10_000, 200


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Accuracy and mean cross-entropy over a number of examples."""

    accuracy: float
    loss: float
    examples: int


def evaluate(
    model: FlatModule, parameters: Tensor, examples: Examples, batch_size: int | None = None
) -> Metrics:
    """Accuracy and loss of the model with these parameters.

    ``batch_size`` is how many examples go through the model at once: it changes time and memory, and the
    result by rounding at most.
    """
    return metrics_of(_scores(model, parameters, examples, batch_size))


def confidences(
    model: FlatModule, parameters: Tensor, examples: Examples, batch_size: int | None = None
) -> NDArray[np.float32]:
    """The softmax of the scores, ``[examples, classes]``: what certificates are computed from.

    A model that is not finite has no opinion: every class gets the same confidence.
    """
    return confidences_of(scores for scores, _ in _scores(model, parameters, examples, batch_size))


@single_threaded()
@torch.no_grad()
def metrics_of(parts: Iterable[tuple[Tensor, Tensor]]) -> Metrics:
    """Accuracy and loss of scores with their labels."""
    correct, loss, examples = 0, 0.0, 0
    for scores, y in parts:
        # A model that is not finite predicts nothing; argmax would make it class 0.
        correct += int(((scores.argmax(1) == y) & ~scores.isnan().any(1)).sum())
        loss += float(cross_entropy(scores, y, reduction="sum"))
        examples += len(y)
    return Metrics(accuracy=correct / examples, loss=loss / examples, examples=examples)


@single_threaded()
@torch.no_grad()
def confidences_of(parts: Iterable[Tensor]) -> NDArray[np.float32]:
    """The softmax of scores, ``[examples, classes]``."""
    confident = []
    for scores in parts:
        found = torch.softmax(scores, 1)
        broken = ~found.isfinite().all(1, keepdim=True)
        confident.append(torch.where(broken, 1.0 / scores.shape[1], found).float())
    together: NDArray[np.float32] = torch.cat(confident).cpu().numpy()
    return together


def _scores(
    model: FlatModule, parameters: Tensor, examples: Examples, batch_size: int | None
) -> Iterator[tuple[Tensor, Tensor]]:
    if len(examples) == 0:
        raise InvalidValue("evaluation needs at least one example, got 0")
    model.parameters.copy_(parameters)
    # No inference mode: a module that keeps a mask from its first call could not be trained with it later.
    model.module.eval()
    # A linear model does not write to its input, and is so fast that a copy would be half of the time.
    linear = is_linear(model.module)
    size = batch_size or (_LINEAR if linear else _OTHER)
    for start in range(0, len(examples), size):
        x, y = _consecutive(examples, start, min(start + size, len(examples)))
        yield model(x, owned=linear and not has_global_hooks()), y


def _consecutive(examples: Examples, start: int, stop: int) -> tuple[Tensor, Tensor]:
    if isinstance(examples.x, Ragged):
        return examples.batch(torch.arange(start, stop))
    return examples.x[start:stop], examples.y[start:stop]  # views: without the copy that an index would make
