"""A model that the compiled engine trains and measures, and a flat module whose gradients it computes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.core.examples import Examples, Ragged
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds
from fedward.local.sgd import SGD

if TYPE_CHECKING:
    from fedward.backends.engines.native._engine import _Compiled

Inputs = TypeVar("Inputs")
"""What an engine reads: pictures, or sequences of tokens."""


@dataclass(frozen=True, kw_only=True)
class CompiledModel(Generic[Inputs]):
    """A model without parameters, which threads may share.

    Args:
      engine: the module compiled.
      read: examples as the engine takes them; None if it does not cover them.
    """

    engine: _Compiled[Inputs]
    read: Callable[[Tensor | Ragged], Inputs | None]

    def reads(self, x: Tensor | Ragged) -> bool:
        """Whether the engine covers these examples."""
        return self.read(x) is not None

    def sgd(
        self, sgd: SGD, bound: float, start: Tensor, examples: Examples, rng: np.random.Generator
    ) -> Tensor:
        """The update of a whole local training; with a bound it never leaves that ball."""
        batches = list(sgd.indices(len(examples), rng))
        found = self.engine.train(
            start.contiguous().numpy(),
            *self.arrays(examples),
            np.concatenate(batches),
            [len(batch) for batch in batches],
            learning_rate=sgd.learning_rate,
            momentum=sgd.momentum,
            weight_decay=sgd.weight_decay,
            bound=bound,
        )
        return torch.from_numpy(found)

    def scores(self, parameters: Tensor, examples: Examples, start: int, stop: int) -> Tensor:
        """The scores of the examples from ``start`` to ``stop``."""
        x, _ = self.arrays(examples)
        found = self.engine.scores(parameters.contiguous().numpy(), x, start, stop - start)
        return torch.from_numpy(found)

    def flat(self, module: nn.Module) -> NativeModel[Inputs]:
        """What trainers that take their steps in Python ask; it owns the ``module``."""
        return NativeModel(module, self)

    def arrays(self, examples: Examples) -> tuple[Inputs, NDArray[np.int64]]:
        """Examples that the engine covers, as it takes them."""
        x = self.read(examples.x)
        assert x is not None
        return x, examples.y.contiguous().numpy()


class NativeModel(FlatModule, Generic[Inputs]):
    """What trainers ask of a model, answered without autograd.

    Args:
      module: owned by this model.
      compiled: the same without parameters.
    """

    def __init__(self, module: nn.Module, compiled: CompiledModel[Inputs]) -> None:
        super().__init__(module)
        self._compiled = compiled

    def add_gradient(self, x: Tensor, y: Tensor, divisor: int) -> None:
        index = np.arange(len(x))
        own = self._compiled.arrays(Examples(x, y))
        mean = torch.from_numpy(self._compiled.engine.gradient(self.parameters.numpy(), *own, index))
        self.gradient.add_(mean, alpha=len(x) / divisor)

    def clipped_sum(self, examples: Examples, index: Tensor, bounds: Bounds) -> Tensor:
        """See ``per_example.clipped_sum``: the same guarantee.

        Each gradient is computed in single precision, measured in double precision, and scaled as it is: what
        is added is at most its bound, whatever the gradient's own rounding was.
        """
        own = self._compiled.arrays(examples)
        engine = self._compiled.engine
        found = engine.clipped_sum(self.parameters.numpy(), *own, index.numpy(), list(bounds))
        return torch.from_numpy(found)
