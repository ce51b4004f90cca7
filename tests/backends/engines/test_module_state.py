from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fedward.backends import InProcess
from fedward.backends.engines.module_state import ModuleState
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from support import tiny_federation, tiny_sgd

FEDERATION = tiny_federation()


Note = Callable[[Any, Tensor], int]


class Diary(nn.Module):
    """Keeps something of every call, in one way or another."""

    def __init__(self, initial: Any, note: Note) -> None:
        super().__init__()
        self.inner = nn.Linear(3, 2)
        self.kept = initial
        self.alias = initial
        self._note = note

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.inner(x)
        return scores * (1 + self._note(self, x) / 10)


def count(module: Any, x: Tensor) -> int:
    module.kept += 1
    return int(module.kept)


def first_time(module: Any, x: Tensor) -> int:
    if not hasattr(module, "mean"):
        module.mean = int(x.sum())
    return int(module.mean)


def appended(module: Any, x: Tensor) -> int:
    module.kept.append(1)
    return len(module.alias)


def entered(module: Any, x: Tensor) -> int:
    module.kept[len(module.kept)] = None
    return len(module.alias)


def added(module: Any, x: Tensor) -> int:
    module.kept.add(len(module.kept))
    return len(module.alias)


def rebound(module: Any, x: Tensor) -> int:
    module.kept = [*(module.kept or ()), 1]
    return len(module.kept)


def summed(module: Any, x: Tensor) -> int:
    module.kept.add_(1)
    return int(module.alias.sum())


WAYS: dict[str, tuple[Callable[[], Any], Note]] = {
    "a number": (lambda: 0, count),
    "an attribute that was not there": (lambda: 0, first_time),
    "a list": (lambda: [1], appended),
    "a queue": (lambda: deque([1], maxlen=7), appended),
    "a dictionary": (lambda: {0: None}, entered),
    "a set": (lambda: {0}, added),
    "another list each time": (lambda: None, rebound),
    "a tensor that is no buffer": (lambda: torch.zeros(2), summed),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_module_keeps_does_not_go_from_one_user_to_the_next(way: str) -> None:
    initial, note = WAYS[way]
    module = nn.Sequential(Diary(initial(), note), nn.Identity())
    start = ParameterSpec.of(module).flatten(module)
    jobs = [
        Job(parameters=start, user=user, num_examples=5, trainer=tiny_sgd(), seed=5) for user in (0, 1, 2)
    ]
    alone = next(iter(InProcess(module, FEDERATION).train(jobs[2:]))).update
    backend = InProcess(module, FEDERATION)
    assert torch.equal(list(backend.train(jobs))[2].update, alone)
    assert FEDERATION.test is not None
    losses = {backend.evaluate(start, FEDERATION.test).loss for _ in range(3)}
    assert losses == {InProcess(module, FEDERATION).evaluate(start, FEDERATION.test).loss}


def test_within_one_users_training_it_is_kept() -> None:
    module = Diary(0, count)
    start = ParameterSpec.of(module).flatten(module)
    job = Job(parameters=start, user=0, num_examples=5, trainer=tiny_sgd(), seed=5)
    plain = Diary(0, lambda module, x: 1)
    assert not torch.equal(
        next(iter(InProcess(module, FEDERATION).train([job]))).update,
        next(iter(InProcess(plain, FEDERATION).train([job]))).update,
    )


def test_a_module_stays_in_training_or_evaluation_as_it_was_put() -> None:
    module = Diary(0, count)
    state = ModuleState(module)
    module.eval()
    state.restore()
    assert not module.training
