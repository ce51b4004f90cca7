"""The compiled engine behind fedward's words: modules, jobs and examples."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from fedward.backends.engines.hooks import has_global_hooks
from fedward.backends.engines.native.describe import NotCovered, describe
from fedward.backends.engines.native.model import NativeModel
from fedward.base.instruction_sets import INSTRUCTIONS
from fedward.base.randomness import from_local_seed
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job, LocalTrainer
from fedward.local.dp_sgd import DPSGD
from fedward.local.full_gradient import FullGradient
from fedward.local.noisy_gradient import NoisyGradient
from fedward.local.projected_sgd import Projected
from fedward.local.sgd import SGD

try:
    from fedward.backends.engines.native import _engine
except ImportError as error:  # pip found no compiler, or the build was switched off
    if not TYPE_CHECKING:
        _engine = None
    # Of a file that is not there Python says that imports may go round in a circle: they do not.
    _MISSING = "it was not compiled here" + ("" if "circular" in str(error) else f" ({error})")
else:
    _MISSING = ""


def available() -> bool:
    """Whether the extension was compiled; if not, everything else works as well, only slower."""
    return not _MISSING


def instruction_set() -> str:
    """The instruction set that is used here: avx512, avx2 or portable."""
    try:
        return _engine.instruction_set(os.environ.get(INSTRUCTIONS, "auto"))
    except ValueError as error:
        raise InvalidValue(f"{INSTRUCTIONS}: {error}") from error


def why_not(module: nn.Module, shape: tuple[int, ...]) -> str:
    """Why a model is not trained here, for people; an empty text if it is.

    >>> why_not(nn.Linear(2, 2), (2,)) if available() else ""
    ''
    """
    if _MISSING:
        return _MISSING
    try:
        describe(module, ParameterSpec.of(module), shape)
    except NotCovered as reason:
        return str(reason)
    return ""


class Native:
    """Trains and measures models that are stacks of the usual layers (``describe`` has the list).

    Every job is computed on one thread from start to end, so its update has the same bits whatever runs
    beside it; it agrees with the generic path's within rounding. Which jobs suit depends on the model, the
    trainer and the shapes alone.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._spec = ParameterSpec.of(module)
        self._models: dict[tuple[int, ...], NativeModel | None] = {}

    @classmethod
    def of(cls, module: nn.Module) -> Native | None:
        """The engine for a module, or None where nothing was compiled."""
        return cls(module) if available() else None

    def suits(self, job: Job, examples: Examples) -> bool:
        """Whether this job is trained here; all others, wrong ones too, belong to the loop."""
        if type(job.trainer) not in _TRAINERS or not self.measures(job.parameters, examples):
            return False
        y = examples.y
        if y.dtype != torch.int64 or y.shape != (len(y),) or y.device.type != "cpu" or not len(y):
            return False
        model = self.flat_model(_shape(examples))
        # As unsigned numbers those below zero are the largest.
        return model is not None and bool(y.numpy().view(np.uint64).max() < model.engine.classes)

    def measures(self, parameters: Tensor, examples: Examples) -> bool:
        """Whether the scores of a model on these examples are computed here."""
        x = examples.x
        if not isinstance(x, Tensor) or x.dtype != torch.float32 or x.device.type != "cpu":
            return False
        if parameters.shape != (self._spec.size,) or parameters.dtype != torch.float32:
            return False
        return not has_global_hooks() and self.flat_model(_shape(examples)) is not None

    def train(self, job: Job, examples: Examples) -> tuple[Tensor, float | None]:
        """The update of a job that suits, and the norm that its trainer reports."""
        model = self.flat_model(_shape(examples))
        assert model is not None
        rng = from_local_seed(job.draw_seed())
        trainer: LocalTrainer = job.trainer
        if isinstance(trainer, SGD):
            return model.sgd(trainer, 0.0, job.parameters, examples, rng), None
        if isinstance(trainer, Projected):
            return model.sgd(trainer.sgd, trainer.bound, job.parameters, examples, rng), None
        # These take their steps in Python and ask the model for gradients only.
        model.parameters.copy_(job.parameters)
        norm = trainer.train(model, examples, rng)
        return model.parameters - job.parameters, None if norm is None else float(norm)

    def scores(self, parameters: Tensor, examples: Examples, start: int, stop: int) -> Tensor:
        """The scores of the examples from ``start`` to ``stop``."""
        model = self.flat_model(_shape(examples))
        assert model is not None
        assert isinstance(examples.x, Tensor)
        x = examples.x.contiguous().numpy()
        found = model.engine.scores(parameters.contiguous().numpy(), x, start, stop - start)
        return torch.from_numpy(found)

    def flat_model(self, shape: tuple[int, ...]) -> NativeModel | None:
        """The module for examples of a shape, answered by this engine; None where it does not cover that."""
        if shape not in self._models:
            self._models[shape] = self._build(shape)
        return self._models[shape]

    def _build(self, shape: tuple[int, ...]) -> NativeModel | None:
        try:
            found = describe(self._module, self._spec, shape)
            engine = _engine.Engine(
                found.channels,
                found.height,
                found.width,
                [_engine.Layer(**layer) for layer in found.layers],
                self._spec.size,
                instruction_set(),
            )
        except ValueError:  # not covered, or too large for it
            return None
        return NativeModel(copy.deepcopy(self._module), engine)


_TRAINERS = (SGD, Projected, DPSGD, FullGradient, NoisyGradient)


def _shape(examples: Examples) -> tuple[int, ...]:
    assert isinstance(examples.x, Tensor)
    return tuple(examples.x.shape[1:])
