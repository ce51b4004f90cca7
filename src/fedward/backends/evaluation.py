"""How well a model does on examples that belong to nobody."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedward.backends.threads import single_threaded
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.validate import InvalidValue


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """Accuracy and mean cross-entropy over a number of examples."""

    accuracy: float
    loss: float
    examples: int


@torch.no_grad()
def evaluate(model: FlatModule, parameters: Tensor, examples: Examples, batch_size: int = 1000) -> Metrics:
    """Accuracy and loss of the model with these parameters."""
    if len(examples) == 0:
        raise InvalidValue("evaluation needs at least one example, got 0")
    model.parameters.copy_(parameters)
    model.module.eval()
    correct, loss = 0, 0.0
    with single_threaded():
        for index in torch.split(torch.arange(len(examples)), batch_size):
            x, y = examples.batch(index)
            scores = model(x)
            # A model that is not finite predicts nothing; argmax would make it class 0.
            correct += int(((scores.argmax(1) == y) & ~scores.isnan().any(1)).sum())
            loss += float(cross_entropy(scores, y, reduction="sum"))
    return Metrics(accuracy=correct / len(examples), loss=loss / len(examples), examples=len(examples))
