"""The choice of an engine, on one thread: the native engine where it can, else the generic path."""

from __future__ import annotations

import heapq
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.backends.engines.bare_copy import bare_copy
from fedward.backends.engines.device import move_examples, own_randomness, usable_device
from fedward.backends.engines.evaluation import Metrics, confidences, confidences_of, evaluate, metrics_of
from fedward.backends.engines.flat_model import flat_model
from fedward.backends.engines.gram import Gram, is_linear
from fedward.backends.engines.module_state import ModuleState
from fedward.backends.engines.native import Native, available, why_not
from fedward.backends.engines.threads import single_threaded
from fedward.base.randomness import from_local_seed
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.core.types import Job, Row

Way = Literal["gram", "native", "loop"]
Choice = Literal["auto", "native", "generic"]
VARIABLE = "FEDWARD_ENGINE"


def choose_engine(engine: str | None = None) -> Choice:
    """The engine that is asked for, or else what ``FEDWARD_ENGINE`` says, or else ``auto``."""
    wanted = engine or os.environ.get(VARIABLE) or "auto"
    found = next((each for each in get_args(Choice) if each == wanted), None)
    if found is None:
        raise InvalidValue(f"engine must be one of {', '.join(get_args(Choice))}, got {wanted}")
    if found == "native" and not available():
        raise InvalidValue("engine native must be compiled, but it was not: see docs/native.md")
    return cast(Choice, found)


class _Group(NamedTuple):
    """Places of jobs that are trained at once; all but the Gram form train one at a time."""

    places: tuple[int, ...]
    by: Way


class Engine:
    """Runs jobs and measures models with one module that is reused.

    An update is computed the same way whatever ran before it or runs beside it: in this process or in a
    worker, in any chunk. Linear models that are trained by plain SGD go by the Gram form (``Gram``), several
    jobs at once where they are alike; models that the compiled engine covers go by it (``Native``);
    everything else goes by the loop of its trainer.

    Args:
      module: copied; the caller's is left alone.
      engine: ``generic`` leaves the compiled engine out, ``native`` insists on it, ``auto`` takes it where it
        covers a job. Between the two paths results differ by rounding.
      beside: the engine of another thread for the same module, whose compiled engine it shares.
      device: where the model is and where it computes. Elsewhere than on the CPU a user's examples are moved
        there once a job and the update comes back. Shuffles and noise are drawn on the CPU all the same, so
        that results agree with the CPU's up to rounding, except for what the module itself draws, such as
        dropout. This was tried on torch's meta device only, never on a real GPU.
    """

    def __init__(
        self,
        module: nn.Module,
        device: str | torch.device = "cpu",
        engine: Choice | None = None,
        beside: Engine | None = None,
    ) -> None:
        self._device = usable_device(device)
        ParameterSpec.of(module)  # refuses what nobody can train
        self._module = bare_copy(module)
        on_cpu = self._device.type == "cpu"
        self._gram = Gram.of(self._module) if on_cpu else None
        wanted = choose_engine(engine)
        self._native: Native | None = None
        if on_cpu and wanted != "generic":
            shared = None if beside is None else beside._native
            self._native = Native.of(module) if shared is None else shared.beside()
        self._insists = wanted == "native"

    @cached_property
    def _model(self) -> FlatModule:
        """What the loop trains; made when it first does, for it is twice as large as the model."""
        return flat_model(self._module.to(self._device))

    @cached_property
    def _state(self) -> ModuleState:
        return ModuleState(self._model.module, self._model.spec.names)

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
                        heapq.heappush(pending, _Group((place,), group.by))
                else:
                    rows.update(zip(group.places, found, strict=True))
        return [rows[place] for place in itertools.takewhile(rows.__contains__, range(len(jobs)))], failure

    def _groups(self, jobs: Sequence[Job], examples: Sequence[Examples]) -> list[_Group]:
        together = [] if self._gram is None else list(self._gram.groups(jobs, examples))
        alone = set(range(len(jobs))).difference(*together)
        groups = [_Group(places, "gram") for places in together]
        return sorted(groups + [_Group((i,), self._alone(jobs[i], examples[i])) for i in alone])

    def way(self, job: Job, examples: Examples) -> Way:
        """How a job is trained here."""
        if self._gram is not None and self._gram.suits(job, examples):
            return "gram"
        return self._alone(job, examples)

    def _alone(self, job: Job, examples: Examples) -> Way:
        if self._native is not None and self._native.suits(job, examples):
            return "native"
        if self._insists:
            raise InvalidValue(
                f"engine native does not cover this training: {_reason(self._module, job, examples)}"
            )
        return "loop"

    def _train(self, group: _Group, jobs: Sequence[Job], examples: Sequence[Examples]) -> list[Row]:
        own = [jobs[place] for place in group.places]
        data = [examples[place] for place in group.places]
        try:
            if group.by == "gram" and self._gram is not None:
                updates = self._gram.train(own, data)
                return [Row(job.user, update) for job, update in zip(own, updates, strict=True)]
            if group.by == "native" and self._native is not None:
                return [Row(own[0].user, *self._native.train(own[0], data[0]))]
            return [self._train_by_trainer(own[0], move_examples(data[0], self._device))]
        except InvalidValue:
            raise
        except Exception as error:
            raise TrainingFailed(_describe_error("trained", error), user=own[0].user) from error

    def _train_by_trainer(self, job: Job, examples: Examples) -> Row:
        model, seed = self._model, job.draw_seed()
        model.parameters.copy_(job.parameters)
        self._state.restore()
        with own_randomness(seed, self._device):
            norm = job.trainer.train(model, examples, from_local_seed(seed))
        norm = None if norm is None else float(norm)
        return Row(job.user, model.parameters.cpu() - job.parameters, norm)

    def evaluate(self, parameters: Tensor, examples: Examples) -> Metrics:
        """Accuracy and loss of a model."""
        with _explain_measure_errors():
            if self.measures_natively(parameters, examples):
                return metrics_of([(self.scores(parameters, examples), examples.y)])
            self._state.restore()
            return evaluate(self._model, parameters, move_examples(examples, self._device))

    def confidences(self, parameters: Tensor, examples: Examples) -> NDArray[np.float32]:
        """The softmax of a model's scores, ``[examples, classes]``."""
        with _explain_measure_errors():
            if self.measures_natively(parameters, examples):
                return confidences_of([self.scores(parameters, examples)])
            self._state.restore()
            return confidences(self._model, parameters, move_examples(examples, self._device))

    def measures_natively(self, parameters: Tensor, examples: Examples) -> bool:
        """Whether ``scores`` may be asked for."""
        if self._native is None or len(examples) == 0 or is_linear(self._module):
            return False
        return self._native.measures(parameters, examples)

    def scores(
        self, parameters: Tensor, examples: Examples, start: int = 0, stop: int | None = None
    ) -> Tensor:
        """The scores of some examples, by the native engine."""
        assert self._native is not None
        return self._native.scores(parameters, examples, start, len(examples) if stop is None else stop)


def _reason(module: nn.Module, job: Job, examples: Examples) -> str:
    shape = tuple(examples.x.shape[1:]) if isinstance(examples.x, Tensor) else ()
    return why_not(module, shape) or f"local training by {type(job.trainer).__name__}, or its examples"


@contextmanager
def _explain_measure_errors() -> Iterator[None]:
    try:
        yield
    except InvalidValue:
        raise
    except Exception as error:
        raise TrainingFailed(_describe_error("evaluated", error)) from error


def _describe_error(done: str, error: BaseException) -> str:
    what = str(error).strip() or "no message"
    return f"the model cannot be {done}: {type(error).__name__}: {what}"
