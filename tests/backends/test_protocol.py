"""Every backend goes through the same checks: what ``Backend`` promises."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from fedward.backends.compute import Compute
from fedward.backends.engines.native import available
from fedward.backends.open import make_backend
from fedward.backends.protocol import Backend
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from fedward.local import SGD
from fedward.studies.sweep.shared_jobs import SharedJobs
from support import flat_inputs

USERS = 5
Maker = Callable[[nn.Module, Federation], Backend]


def made(compute: Compute) -> Maker:
    return lambda model, federation: make_backend(model, federation, compute)


def shared(model: nn.Module, federation: Federation) -> Backend:
    """The backend of a sweep: equal jobs of one round run once."""
    backend = SharedJobs(make_backend(model, federation, Compute(backend="in-process")))
    backend.next_round(2)
    return backend


BACKENDS: dict[str, Maker] = {
    "in process": made(Compute(backend="in-process")),
    "one process": made(Compute(backend="processes", workers=1)),
    "two processes": made(Compute(backend="processes", workers=2)),
    "shared": shared,
}
if available():
    BACKENDS["threads"] = made(Compute(backend="threads", workers=2))


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


def people() -> Federation:
    rng = np.random.default_rng(1)
    sizes = [3, 8, 1, 5, 4]
    owners = np.repeat(np.arange(USERS), sizes)
    x = rng.normal(size=(sum(sizes), 3)).astype(np.float32)
    return Federation.from_arrays(x, (x[:, 0] > 0).astype(int), owners.tolist())


def examples_to_measure() -> Examples:
    rng = np.random.default_rng(2)
    x = torch.from_numpy(rng.normal(size=(7, 3)).astype(np.float32))
    return Examples(x, (x[:, 0] > 0).long())


def jobs(model: nn.Module, federation: Federation, users: Iterable[int]) -> list[Job]:
    parameters = ParameterSpec.of(model).flatten(model)
    trainer = SGD(learning_rate=0.1, batch_size=2, epochs=2)
    return [
        Job(
            parameters=parameters,
            user=user,
            num_examples=int(federation.sizes[user]),
            trainer=trainer,
            seed=100 + user,
        )
        for user in users
    ]


@pytest.fixture(params=list(BACKENDS))
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    found = BACKENDS[request.param](network(), people())
    yield found
    found.close()


def reference() -> Backend:
    return BACKENDS["in process"](network(), people())


def test_rows_come_in_the_order_of_the_jobs_with_the_same_bits_everywhere(backend: Backend) -> None:
    order = [3, 0, 4, 1, 2, 0, 3]
    asked = jobs(network(), people(), order)
    found, wanted = list(backend.train(asked)), list(reference().train(asked))
    assert [row.user for row in found] == order
    for row, other in zip(found, wanted, strict=True):
        assert torch.equal(row.update, other.update)
        assert row.norm == other.norm


def test_a_row_does_not_depend_on_what_is_asked_for_beside_it(backend: Backend) -> None:
    asked = jobs(network(), people(), range(USERS))
    together = list(backend.train(asked))
    for job, row in zip(asked, together, strict=True):
        (alone,) = backend.train([job])
        assert torch.equal(alone.update, row.update)


def test_nothing_asked_for_is_nothing_answered(backend: Backend) -> None:
    assert list(backend.train([])) == []
    assert list(backend.evaluate_many([], examples_to_measure())) == []
    assert list(backend.confidences([], examples_to_measure())) == []


def test_jobs_are_taken_only_a_little_ahead_of_their_rows(backend: Backend) -> None:
    if isinstance(backend, SharedJobs):
        pytest.skip("it must know all jobs of a round to see which are equal")
    taken = 0

    def endless() -> Iterator[Job]:
        nonlocal taken
        for job in itertools.cycle(jobs(network(), people(), range(USERS))):
            taken += 1
            yield job

    rows = iter(backend.train(endless()))
    for _ in range(10):
        next(rows)
    assert taken < 20_000
    if hasattr(rows, "close"):
        rows.close()


def test_own_examples_are_trained_on_where_a_job_has_some(backend: Backend) -> None:
    (job,) = jobs(network(), people(), [1])
    other = replace(job, examples=people().user(3), num_examples=5, version="poisoned")
    (row,), (wanted,) = backend.train([other]), reference().train([other])
    (plain,) = backend.train([job])
    assert torch.equal(row.update, wanted.update)
    assert not torch.equal(row.update, plain.update)


def test_models_are_measured_with_the_same_bits_everywhere(backend: Backend) -> None:
    start = ParameterSpec.of(network()).flatten(network())
    models = [start, start * 2, torch.zeros_like(start)]
    examples, other = examples_to_measure(), reference()
    assert list(backend.evaluate_many(models, examples)) == list(other.evaluate_many(models, examples))
    assert backend.evaluate(models[1], examples) == other.evaluate(models[1], examples)
    found, wanted = list(backend.confidences(models, examples)), list(other.confidences(models, examples))
    assert len(found) == 3
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.dtype == np.float32
        assert mine.shape == (7, 2)
        np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_allclose(mine.sum(axis=1), 1, rtol=1e-6)


def test_a_model_that_is_not_finite_has_no_opinion(backend: Backend) -> None:
    start = ParameterSpec.of(network()).flatten(network())
    (found,) = backend.confidences([torch.full_like(start, torch.nan)], examples_to_measure())
    np.testing.assert_array_equal(found, np.full((7, 2), 0.5, dtype=np.float32))


class FailsFor(nn.Module):
    """Refuses examples that are larger than any honest one."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = network()

    def forward(self, x: torch.Tensor) -> Any:
        if bool((x > 100).any()):
            raise RuntimeError("too large")
        return self.inner(x)


@pytest.mark.parametrize("name", [name for name in BACKENDS if name != "threads"])
def test_the_first_job_that_fails_ends_the_rows_and_names_its_user(name: str) -> None:
    model, federation = FailsFor(), people()
    backend = BACKENDS[name](model, federation)
    asked = jobs(model, federation, range(USERS))
    bad = federation.user(2)
    asked[2] = replace(asked[2], examples=Examples(flat_inputs(bad) + 1000, bad.y), version="bad")
    asked[4] = replace(
        asked[4], examples=Examples(flat_inputs(bad) + 1000, bad.y), version="bad", num_examples=1
    )
    rows: list[int] = []
    try:
        with pytest.raises(TrainingFailed, match="too large") as raised:
            rows.extend(row.user for row in backend.train(asked))
        assert raised.value.user == 2
        assert rows == [0, 1]
        # And it can be used on.
        assert [row.user for row in backend.train(asked[:2])] == [0, 1]
    finally:
        backend.close()


def test_what_a_model_writes_into_its_examples_reaches_no_other_job() -> None:
    class Writes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network()

        def forward(self, x: torch.Tensor) -> Any:
            x.mul_(2.0)
            return self.inner(x)

    for name in BACKENDS:
        if name == "threads":
            continue
        federation = people()
        backend = BACKENDS[name](Writes(), federation)
        try:
            (job,) = jobs(Writes(), federation, [1])
            (first,), (again,) = backend.train([job]), backend.train([replace(job)])
            assert torch.equal(first.update, again.update)
            assert torch.equal(federation.user(1).x, people().user(1).x)  # type: ignore[arg-type]
        finally:
            backend.close()


def test_it_can_be_closed_twice_and_what_had_workers_refuses_work_afterwards(backend: Backend) -> None:
    list(backend.train(jobs(network(), people(), [0])))
    backend.close()
    backend.close()
    if type(backend).__name__ in ("Threads", "Workers"):
        with pytest.raises(InvalidValue, match="closed"):
            list(backend.train(jobs(network(), people(), [0])))
