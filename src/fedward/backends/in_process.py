"""Runs jobs one after the other in this process: the backend to read and to debug with."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn

from fedward.backends.evaluation import Metrics, evaluate
from fedward.backends.threads import single_threaded
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.parameters import FlatModule
from fedward.core.randomness import from_local_seed
from fedward.core.types import Job, Row


class InProcess:
    """Trains users in this process, on one thread, reusing one copy of the module."""

    def __init__(self, module: nn.Module, federation: Federation) -> None:
        self._model = FlatModule(copy.deepcopy(module))
        self._federation = federation
        # A module may keep state that is not sent (counters, hand-made statistics): it must not go from one
        # user to the next, or a user would move more than its own update.
        sent = set(self._model.spec.names)
        self._state = {
            name: buffer.clone() for name, buffer in self._model.module.named_buffers() if name not in sent
        }

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        for job in jobs:
            yield self._row(job)

    def evaluate(self, parameters: Tensor, examples: Examples) -> Metrics:
        self._forget()
        return evaluate(self._model, parameters, examples)

    def _forget(self) -> None:
        for name, initial in self._state.items():
            owner, _, attribute = name.rpartition(".")
            setattr(self._model.module.get_submodule(owner), attribute, initial.clone())

    def _row(self, job: Job) -> Row:
        model = self._model
        examples = job.examples if job.examples is not None else self._federation.user(job.user)
        model.parameters.copy_(job.parameters)
        self._forget()
        # Dropout and the like draw from torch's global generator: it gets the job's own seed, and the
        # caller's generator is left as it was.
        with single_threaded(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(job.seed % 2**64)
            norm = job.trainer.train(model, examples, from_local_seed(job.seed))
        return Row(job.user, model.parameters - job.parameters, norm)
