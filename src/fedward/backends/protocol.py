"""The contract of a backend: all that callers use, and what it promises about order and bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedward.backends.engines.evaluation import Metrics
from fedward.core.examples import Examples
from fedward.core.types import Job, Row


class Backend(Protocol):
    """Runs jobs and measures models of one module on one federation.

    Order: whatever runs where, answers come in the order of what was asked for, one for each. Iterables are
    taken only a little ahead of the answers, so that neither jobs nor rows need lie in memory together.

    Bits: for one engine and one instruction set an answer has the same bits in every backend, for any number
    of workers and any chunking, whatever else is asked for beside it.

    Failures: the first job, in their order, that fails ends the iteration with ``TrainingFailed``, which
    names its user; rows before it have been given. A backend can be used on afterwards.

    Data: what a model or trainer writes into its examples reaches no other job.
    """

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        """The row of each job."""
        ...

    def evaluate(self, parameters: Tensor, examples: Examples) -> Metrics:
        """Accuracy and loss of a model."""
        ...

    def evaluate_many(self, models: Iterable[Tensor], examples: Examples) -> Iterator[Metrics]:
        """Accuracy and loss of each model."""
        ...

    def confidences(self, models: Iterable[Tensor], examples: Examples) -> Iterator[NDArray[np.float32]]:
        """The softmax of each model's scores, ``[examples, classes]``; all equal where one is not finite."""
        ...

    def close(self) -> None:
        """Ends threads and processes, and may be called again. What had some refuses all work afterwards."""
        ...
