"""Local training by the compiled engine: whole, or with steps that are taken in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds
from fedward.local.sgd import SGD

if TYPE_CHECKING:
    from fedward.backends.engines.native._engine import Engine


class NativeModel(FlatModule):
    """What trainers ask of a model, answered without autograd."""

    def __init__(self, module: nn.Module, engine: Engine) -> None:
        super().__init__(module)
        self.engine = engine

    def add_gradient(self, x: Tensor, y: Tensor, divisor: int) -> None:
        index = np.arange(len(x))
        own = _arrays(Examples(x, y))
        mean = torch.from_numpy(self.engine.gradient(self.parameters.numpy(), *own, index))
        self.gradient.add_(mean, alpha=len(x) / divisor)

    def clipped_sum(self, examples: Examples, index: Tensor, bounds: Bounds) -> Tensor:
        """See ``per_example.clipped_sum``: the same guarantee, with the gradients made one by one.

        Each is computed in single precision, measured in double precision, and scaled as it is: what is added
        is at most its bound, whatever the gradient's own rounding was.
        """
        own = _arrays(examples)
        found = self.engine.clipped_sum(self.parameters.numpy(), *own, index.numpy(), list(bounds))
        return torch.from_numpy(found)


def sgd_update(
    engine: Engine, sgd: SGD, bound: float, start: Tensor, examples: Examples, rng: np.random.Generator
) -> Tensor:
    """The update of a whole local training; with a bound it never leaves that ball."""
    batches = list(sgd.indices(len(examples), rng))
    found = engine.train(
        start.contiguous().numpy(),
        *_arrays(examples),
        np.concatenate(batches),
        [len(batch) for batch in batches],
        learning_rate=sgd.learning_rate,
        momentum=sgd.momentum,
        weight_decay=sgd.weight_decay,
        bound=bound,
    )
    return torch.from_numpy(found)


def _arrays(examples: Examples) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    assert isinstance(examples.x, Tensor)
    return examples.x.contiguous().numpy(), examples.y.contiguous().numpy()
