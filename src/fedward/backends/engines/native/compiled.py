"""The compiled engine behind fedward's words: modules, jobs and examples."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.backends.engines.bare_copy import bare_copy
from fedward.backends.engines.hooks import has_global_hooks
from fedward.backends.engines.native.describe import NotCovered, describe
from fedward.backends.engines.native.describe_text import (
    build_text_engine,
    check_text_model,
    is_text,
    read_tokens,
)
from fedward.backends.engines.native.model import CompiledModel
from fedward.base.instruction_sets import INSTRUCTIONS
from fedward.base.randomness import from_local_seed
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.parameters import FlatModule, ParameterSpec
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

if TYPE_CHECKING:
    from fedward.backends.engines.native._engine import Tokens

    Compiled: TypeAlias = CompiledModel[NDArray[np.float32]] | CompiledModel[Tokens]

Engines = dict[tuple[int, ...], "Compiled | None"]
"""Compiled models by the shape of an example, one for sequences of all lengths; None where not covered."""


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
        spec = ParameterSpec.of(module)
        if is_text(module):
            check_text_model(module, spec)
        else:
            describe(module, spec, shape)
    except NotCovered as reason:
        return str(reason)
    return ""


class Native:
    """Trains and measures models that are stacks of the usual layers (``describe`` has the list), or of text.

    Every job is computed on one thread from start to end, so its update has the same bits whatever runs
    beside it; it agrees with the generic path's within rounding. Which jobs suit depends on the model, the
    trainer and the shapes alone.

    Args:
      engines: one for each shape of examples, filled as they come; ``beside`` shares it between threads.
    """

    def __init__(self, module: nn.Module, engines: Engines | None = None) -> None:
        self._module = module
        self._spec = ParameterSpec.of(module)
        self._engines: Engines = {} if engines is None else engines
        self._models: dict[tuple[int, ...], FlatModule] = {}

    @classmethod
    def of(cls, module: nn.Module) -> Native | None:
        """The engine for a module, or None where nothing was compiled."""
        return cls(module) if available() else None

    def beside(self) -> Native:
        """The same for another thread. It shares the engines, which are as large as the model."""
        return Native(self._module, self._engines)

    def suits(self, job: Job, examples: Examples) -> bool:
        """Whether this job is trained here; all others, wrong ones too, belong to the loop."""
        if type(job.trainer) not in _TRAINERS or not self.measures(job.parameters, examples):
            return False
        y = examples.y
        if y.dtype != torch.int64 or y.shape != (len(y),) or y.device.type != "cpu" or not len(y):
            return False
        compiled = self._compiled(self._shape(examples))
        # As unsigned numbers those below zero are the largest.
        return compiled is not None and bool(y.numpy().view(np.uint64).max() < compiled.engine.classes)

    def measures(self, parameters: Tensor, examples: Examples) -> bool:
        """Whether the scores of a model on these examples are computed here."""
        if parameters.shape != (self._spec.size,) or parameters.dtype != torch.float32 or has_global_hooks():
            return False
        compiled = self._compiled(self._shape(examples))
        return compiled is not None and compiled.reads(examples.x)

    def train(self, job: Job, examples: Examples) -> tuple[Tensor, float | None]:
        """The update of a job that suits, and the norm that its trainer reports."""
        shape = self._shape(examples)
        compiled = self._compiled(shape)
        assert compiled is not None
        rng = from_local_seed(job.draw_seed())
        trainer: LocalTrainer = job.trainer
        if isinstance(trainer, SGD):
            return compiled.sgd(trainer, 0.0, job.parameters, examples, rng), None
        if isinstance(trainer, Projected):
            return compiled.sgd(trainer.sgd, trainer.bound, job.parameters, examples, rng), None
        # These take their steps in Python and ask the model for gradients only.
        model = self.flat_model(shape)
        assert model is not None
        model.parameters.copy_(job.parameters)
        norm = trainer.train(model, examples, rng)
        return model.parameters - job.parameters, None if norm is None else float(norm)

    def scores(self, parameters: Tensor, examples: Examples, start: int, stop: int) -> Tensor:
        """The scores of the examples from ``start`` to ``stop``."""
        compiled = self._compiled(self._shape(examples))
        assert compiled is not None
        return compiled.scores(parameters, examples, start, stop)

    def flat_model(self, shape: tuple[int, ...]) -> FlatModule | None:
        """The module for examples of a shape, its gradients computed here; None where it is not covered."""
        compiled = self._compiled(shape)
        if compiled is not None and shape not in self._models:
            self._models[shape] = compiled.flat(bare_copy(self._module))
        return self._models.get(shape)

    def _shape(self, examples: Examples) -> tuple[int, ...]:
        x = examples.x
        return () if isinstance(x, Ragged) or is_text(self._module) else tuple(x.shape[1:])

    def _compiled(self, shape: tuple[int, ...]) -> Compiled | None:
        if shape not in self._engines:
            # Two threads may both build one; they then use the same.
            self._engines.setdefault(shape, self._build(shape))
        return self._engines[shape]

    def _build(self, shape: tuple[int, ...]) -> Compiled | None:
        try:
            return self._of_text() if is_text(self._module) else self._of_pictures(shape)
        except ValueError:  # not covered, or too large for it
            return None

    def _of_pictures(self, shape: tuple[int, ...]) -> CompiledModel[NDArray[np.float32]]:
        found = describe(self._module, self._spec, shape)
        engine = _engine.Engine(
            found.channels,
            found.height,
            found.width,
            [_engine.Layer(**layer) for layer in found.layers],
            self._spec.size,
            instruction_set(),
        )
        return CompiledModel(engine=engine, read=_read_pictures)

    def _of_text(self) -> CompiledModel[Tokens]:
        # Of a copy: the engine reads frozen vectors where they lie, and the caller's module is the caller's.
        engine = build_text_engine(bare_copy(self._module), self._spec, instruction_set())

        def read(x: Tensor | Ragged) -> Tokens | None:
            tokens = read_tokens(x)
            return tokens if tokens is not None and engine.covers(tokens) else None

        return CompiledModel(engine=engine, read=read)


_TRAINERS = (SGD, Projected, DPSGD, FullGradient, NoisyGradient)


def _read_pictures(x: Tensor | Ragged) -> NDArray[np.float32] | None:
    if isinstance(x, Ragged) or x.dtype != torch.float32 or x.device.type != "cpu":
        return None
    return x.contiguous().numpy()
