"""The generic engine: any ``nn.Module``, on one thread."""

from __future__ import annotations

import copy
import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.backends.device import moved, own_randomness, usable_device
from fedward.backends.evaluation import Metrics, confidences, evaluate
from fedward.backends.gram import Gram
from fedward.backends.threads import single_threaded
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.parameters import FlatModule
from fedward.core.randomness import from_local_seed
from fedward.core.types import Job, Row
from fedward.core.validate import InvalidValue


class _Group(NamedTuple):
    """Places of jobs that are trained at once; all but the Gram form train one at a time."""

    places: tuple[int, ...]
    by_gram: bool


class Generic:
    """Runs jobs and measures models with one module that is reused.

    An update is computed the same way whatever ran before it or runs beside it: in this process or in a
    worker, in any chunk. Linear models that are trained by plain SGD go by the Gram form (``Gram``), several
    jobs at once where they are alike; everything else goes by the loop of its trainer.

    Args:
      module: copied; the caller's is left alone.
      device: where the model is and where it computes. Elsewhere than on the CPU a user's examples are moved
        there once a job and the update comes back. Shuffles and noise are drawn on the CPU all the same, so
        that results agree with the CPU's up to rounding, except for what the module itself draws, such as
        dropout. This was tried on torch's meta device only, never on a real GPU.
    """

    def __init__(self, module: nn.Module, device: str | torch.device = "cpu") -> None:
        self._device = usable_device(device)
        self._model = FlatModule(copy.deepcopy(module).to(self._device))
        self._gram = Gram.of(self._model.module) if self._device.type == "cpu" else None
        # A module may keep state that is not sent (counters, hand-made statistics): it must not go from one
        # user to the next, or a user would move more than its own update.
        sent = set(self._model.spec.names)
        self._state = {
            name: buffer.clone() for name, buffer in self._model.module.named_buffers() if name not in sent
        }

    def train(self, job: Job, examples: Examples) -> Row:
        """The row of one job; ``examples`` is what it trains on."""
        (row,) = self.train_many([job], [examples])
        return row

    def train_many(self, jobs: Sequence[Job], examples: Sequence[Examples]) -> list[Row]:
        """The rows of several jobs, each with the bits that it has alone.

        Raises for the first job in their order that fails.
        """
        rows, failure = self.attempt(jobs, examples)
        if failure is not None:
            raise failure
        return rows

    def attempt(
        self,
        jobs: Sequence[Job],
        examples: Sequence[Examples],
        going: Callable[[int], bool] = lambda place: True,
    ) -> tuple[list[Row], BaseException | None]:
        """The rows before the first job that fails, and what it failed with.

        Args:
          going: called before jobs are trained, with the place of the first of them; if it says no, the rows
            end where they are.
        """
        rows: dict[int, Row] = {}
        failure = None
        with single_threaded():
            # By their first places, so that at the first failure everything before it is done.
            pending = self._groups(jobs, examples)
            while pending and going(pending[0].places[0]):
                group = heapq.heappop(pending)
                try:
                    found = self._train(group, jobs, examples)
                except BaseException as error:
                    if len(group.places) == 1 or not isinstance(error, Exception):
                        failure = error
                        break
                    for place in group.places:  # nobody knows whose failure it was
                        heapq.heappush(pending, _Group((place,), group.by_gram))
                else:
                    rows.update(zip(group.places, found, strict=True))
        return [rows[place] for place in itertools.takewhile(rows.__contains__, range(len(jobs)))], failure

    def _groups(self, jobs: Sequence[Job], examples: Sequence[Examples]) -> list[_Group]:
        together = [] if self._gram is None else list(self._gram.groups(jobs, examples))
        alone = set(range(len(jobs))).difference(*together)
        return sorted([_Group(places, True) for places in together] + [_Group((i,), False) for i in alone])

    def _train(self, group: _Group, jobs: Sequence[Job], examples: Sequence[Examples]) -> list[Row]:
        own = [jobs[place] for place in group.places]
        data = [examples[place] for place in group.places]
        try:
            if group.by_gram and self._gram is not None:
                updates = self._gram.train(own, data)
                return [Row(job.user, update) for job, update in zip(own, updates, strict=True)]
            return [self._by_trainer(own[0], moved(data[0], self._device), from_local_seed(own[0].seed))]
        except InvalidValue:
            raise
        except (Exception, MemoryError) as error:
            raise TrainingFailed(_in_words(error), user=own[0].user) from error

    def _by_trainer(self, job: Job, examples: Examples, rng: np.random.Generator) -> Row:
        model = self._model
        model.parameters.copy_(job.parameters)
        self._forget()
        with own_randomness(job.seed, self._device):
            norm = job.trainer.train(model, examples, rng)
        norm = None if norm is None else float(norm)
        return Row(job.user, model.parameters.cpu() - job.parameters, norm)

    def evaluate(self, parameters: Tensor, examples: Examples) -> Metrics:
        """Accuracy and loss of a model."""
        self._forget()
        return evaluate(self._model, parameters, moved(examples, self._device))

    def confidences(self, parameters: Tensor, examples: Examples) -> NDArray[np.float32]:
        """The softmax of a model's scores, ``[examples, classes]``."""
        self._forget()
        return confidences(self._model, parameters, moved(examples, self._device))

    def _forget(self) -> None:
        for name, initial in self._state.items():
            owner, _, attribute = name.rpartition(".")
            setattr(self._model.module.get_submodule(owner), attribute, initial.clone())


def _in_words(error: BaseException) -> str:
    what = str(error).strip() or "no message"
    return f"the model cannot be trained: {type(error).__name__}: {what}"
