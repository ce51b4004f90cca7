"""A module of a user's own, written to a directory outside the package, and an experiment that names it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MODULE = '''
"""Parts of one's own."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from fedward.core.examples import Examples

RATE = 2


class Net(nn.Module):
    def __init__(self, num_classes: int, width: int = 8) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(64, width), nn.Linear(width, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(torch.relu(self.first(x.flatten(1))))


@dataclass(frozen=True, kw_only=True)
class FirstRow:
    """The update that came first."""

    least_rows: ClassVar[int] = 1

    def combine(self, rows: list[Tensor]) -> Tensor:
        return rows[0].double()


@dataclass(frozen=True, kw_only=True)
class HalfMean:
    """A mean over twice the expected cohort."""

    expected_cohort: float
    needs_all_rows: ClassVar[bool] = False
    least_rows: ClassVar[int] = 0
    missing_as_zero: ClassVar[bool] = True

    @property
    def divisor(self) -> float:
        return RATE * self.expected_cohort

    def sensitivity(self, bound: float, adjacency: str) -> float:
        return (1 if adjacency != "replace-one" else 2) * bound / self.divisor

    def init(self, parameters: Tensor) -> Tensor:
        return torch.zeros_like(parameters, dtype=torch.float64)

    def add(self, total: Tensor, row: Tensor, num_examples: int) -> Tensor:
        return total.add_(row)

    def finish(self, total: Tensor) -> Tensor:
        return total / self.divisor
'''

EXPERIMENT = """
seed = 1
rounds = 2

[data]
name = "digits"
users = 8

[model]
name = "{module}:Net"
width = 6

[algorithm]
preset = "composed"
sampler = {{ name = "poisson", rate = 0.5 }}
local = {{ name = "sgd", learning_rate = 0.1, batch_size = 10, epochs = 1 }}
policy = {{ name = "fixed", clip_bound = 1.0 }}
aggregator = {{ name = "{module}:HalfMean" }}
mechanism = {{ name = "gaussian", multiplier = 1.0 }}

[privacy]
users = 8
"""


@contextmanager
def own_module(folder: Path, name: str, text: str = MODULE) -> Iterator[Path]:
    """Writes the module and, beside it, an experiment; afterwards Python has forgotten both."""
    (folder / f"{name}.py").write_text(text, encoding="utf8")
    file = folder / "own.toml"
    file.write_text(EXPERIMENT.format(module=name), encoding="utf8")
    paths = list(sys.path)
    try:
        yield file
    finally:
        sys.path[:] = paths
        for each in [each for each in sys.modules if each.partition(".")[0] == name]:
            del sys.modules[each]
