from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from fedward.backends import InProcess
from fedward.backends.engines.switches import switch, switches
from fedward.backends.processes.workers import Workers
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from support import tiny_pictures, tiny_sgd

PICTURES = tiny_pictures()


@pytest.fixture(autouse=True)
def as_they_were() -> Iterator[None]:
    before = switches()
    yield
    switch(before)


CHANGES = {
    "dtype": "float64",
    "precision": "medium",
    "mkldnn": False,
    "deterministic": True,
    "warn_only": True,
    "denormals": False,
}


def test_every_switch_is_seen_and_set() -> None:
    before = switches()
    if not torch.set_flush_denormal(False):
        pytest.skip("this processor cannot flush denormal numbers")
    assert set(before) == set(CHANGES)
    assert not any(before[name] == value for name, value in CHANGES.items())
    switch(CHANGES)
    assert switches() == CHANGES
    switch(before)
    assert switches() == before


def test_workers_compute_with_the_switches_of_their_parent() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 3))
    start = ParameterSpec.of(module).flatten(module)
    jobs = [
        Job(parameters=start, user=user, num_examples=6, trainer=tiny_sgd(epochs=3), seed=user)
        for user in range(12)
    ]

    def found() -> torch.Tensor:
        backend = InProcess(module, PICTURES, engine="generic")
        return torch.stack([row.update for row in backend.train(jobs)])

    usual = found()
    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
    expected = found()
    if torch.equal(usual, expected):
        pytest.skip("this machine computes the same without oneDNN")
    with Workers(module, PICTURES, workers=1, engine="generic") as workers:
        assert torch.equal(torch.stack([row.update for row in workers.train(jobs)]), expected)
