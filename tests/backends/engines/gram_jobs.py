"""Linear models, and what training them comes to, by the plain loop and by products."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from fedward.backends.engines.gram import Gram
from fedward.base.randomness import from_local_seed
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.core.types import Job


def linear(
    features: int, classes: int, *, bias: bool = True, dtype: torch.dtype = torch.float32
) -> nn.Module:
    torch.manual_seed(features * 100 + classes)
    return nn.Sequential(nn.Flatten(), nn.Linear(features, classes, bias=bias)).to(dtype)


def some_examples(n: int, features: int, classes: int, dtype: torch.dtype = torch.float32) -> Examples:
    generator = torch.Generator().manual_seed(n)
    x = torch.randn(n, features, 1, generator=generator, dtype=dtype)
    return Examples(x, torch.randint(0, classes, (n,), generator=generator))


def job_for(module: nn.Module, trainer: Any, examples: Examples | None = None, seed: int = 5) -> Job:
    start = ParameterSpec.of(module).flatten(module)
    return Job(parameters=start, user=3, num_examples=1, trainer=trainer, seed=seed, examples=examples)


def by_the_plain_loop(module: nn.Module, job: Job, examples: Examples) -> Tensor:
    model = FlatModule(copy.deepcopy(module))
    assert job.seed is not None
    job.trainer.train(model, examples, from_local_seed(job.seed))
    return model.parameters - job.parameters


def by_gram(module: nn.Module, job: Job, examples: Examples) -> Tensor:
    gram = Gram.of(module)
    assert gram is not None
    assert gram.suits(job, examples)
    (update,) = gram.train([job], [examples])
    return update
