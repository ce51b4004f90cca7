"""The backend that runs jobs one after the other in this process, to read and to debug with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.backends.engines.allocator import keep_freed_memory
from fedward.backends.engines.choice import Choice, Engine
from fedward.backends.engines.evaluation import Metrics
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.types import Job, Row


class InProcess:
    """Trains users in this process, on one thread, reusing one copy of the module.

    Args:
      module: the model; it is copied.
      federation: whose users the jobs name.
      device: where the model computes, any that torch has: ``cpu``, ``cuda``, ``cuda:1``.
      engine: ``auto``, ``native`` or ``generic``; see ``Engine``.
    """

    def __init__(
        self,
        module: nn.Module,
        federation: Federation,
        device: str | torch.device = "cpu",
        engine: Choice | None = None,
    ) -> None:
        keep_freed_memory()
        self._engine = Engine(module, device, engine)
        self._federation = federation

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        for job in jobs:
            own = job.examples if job.examples is not None else self._federation.user(job.user)
            yield self._engine.train(job, own)

    def evaluate(self, parameters: Tensor, examples: Examples) -> Metrics:
        return self._engine.evaluate(parameters, examples)

    def evaluate_many(self, models: Iterable[Tensor], examples: Examples) -> Iterator[Metrics]:
        """Accuracy and loss of each model, in the order of the models."""
        for parameters in models:
            yield self._engine.evaluate(parameters, examples)

    def confidences(self, models: Iterable[Tensor], examples: Examples) -> Iterator[NDArray[np.float32]]:
        """The softmax of each model's scores, ``[examples, classes]``, in the order of the models."""
        for parameters in models:
            yield self._engine.confidences(parameters, examples)

    def close(self) -> None:
        """Nothing is held; other backends have processes to end."""
