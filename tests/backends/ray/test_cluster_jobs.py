from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from backends.ray.fragile import AlwaysDies, DiesOnce
from fedward.backends.compute import Compute
from fedward.backends.in_process import InProcess
from fedward.backends.open import make_backend
from fedward.backends.ray import connection
from fedward.backends.ray.cluster_jobs import ClusterJobs
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.types import Job
from fedward.local import DPSGD
from fedward.testing import check_backend
from fedward.testing.backend_jobs import jobs_of, network, people
from raylets import needs_ray

pytestmark = needs_ray

DP = DPSGD(
    learning_rate=0.1, probability=0.5, expected_batch=3, steps=2, noise_multiplier=1.0, clip_bound=0.5
)


@pytest.fixture(scope="module")
def on(cluster_address: str) -> Iterator[Compute]:
    compute = Compute(cluster=cluster_address).check()
    with connection.joined(compute):
        yield compute


def test_it_keeps_the_promises_of_a_backend(on: Compute) -> None:
    report = check_backend(lambda model, federation: make_backend(model, federation, on))
    assert not report.skipped


@pytest.mark.parametrize("engine", ["auto", "generic"])
def test_bits_do_not_depend_on_chunks(on: Compute, engine: Any) -> None:
    asked = jobs_of(network(), [0, 1, 2, 3, 4, 2, 0])
    asked += [replace(job, trainer=DP, private=True, seed=n) for n, job in enumerate(asked)]
    wanted = list(InProcess(network(), people(), engine=engine).train(asked))
    for chunk in (1, 5):
        with closing(ClusterJobs(network(), people(), replace(on, engine=engine), chunk=chunk)) as backend:
            rows = list(backend.train(asked))
        assert [row.norm for row in rows] == [row.norm for row in wanted]
        assert all(torch.equal(a.update, b.update) for a, b in zip(rows, wanted, strict=True))


def large(user: int, model: torch.nn.Module) -> list[Job]:
    """Jobs of all users, with examples for one of them that are larger than any honest ones."""
    asked, own = jobs_of(model, range(5)), people().user(user)
    assert isinstance(own.x, torch.Tensor)
    far = Examples(own.x + 1000, own.y)
    asked[user] = replace(asked[user], examples=far, num_examples=len(far), version="far", round=6)
    return asked


def test_what_a_dead_process_had_runs_again_with_the_same_bits(on: Compute, tmp_path: Path) -> None:
    model, note = DiesOnce(tmp_path / "died"), tmp_path / "died"
    asked = large(3, model)
    with closing(ClusterJobs(model, people(), on, chunk=2)) as backend:
        rows = list(backend.train(asked))
    assert note.exists()
    wanted = list(InProcess(model, people()).train(asked))
    assert all(torch.equal(a.update, b.update) for a, b in zip(rows, wanted, strict=True))


def test_a_job_that_always_dies_is_named_with_its_node(on: Compute, tmp_path: Path) -> None:
    model = AlwaysDies(tmp_path / "never")
    rows: list[int] = []
    with closing(ClusterJobs(model, people(), on, chunk=5)) as backend:
        with pytest.raises(TrainingFailed, match=r"died 4 times at this job .*; on 127\.0\.0\.") as failed:
            rows.extend(row.user for row in backend.train(large(2, model)))
        assert rows == [0, 1]  # what comes before it is still good
        assert (failed.value.user, failed.value.round) == (2, 6)
        assert len(list(backend.train(jobs_of(model, [0, 1])))) == 2


def test_entropy_of_the_system_is_drawn_here(on: Compute, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedward.core.values.system_seed", lambda: 7)  # in this process alone
    (job,) = jobs_of(network(), [1])
    with closing(ClusterJobs(network(), people(), on)) as backend:
        (row,) = backend.train([replace(job, trainer=DP, private=True, seed=None)])
    (wanted,) = InProcess(network(), people()).train([replace(job, trainer=DP, private=True, seed=7)])
    assert torch.equal(row.update, wanted.update)


def test_a_closed_one_refuses_work(on: Compute) -> None:
    backend = ClusterJobs(network(), people(), on)
    backend.close()
    with pytest.raises(InvalidValue, match="must be open, but this one was closed"):
        list(backend.train(jobs_of(network(), [0])))


def test_another_cluster_beside_it_is_refused(on: Compute) -> None:
    with pytest.raises(InvalidValue, match="one process joins one cluster at a time"):
        connection.join(Compute(cluster="127.0.0.9:6379"))


def test_a_full_cluster_is_one_clear_line(on: Compute, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    # Here, so that it goes there as it is: what lies beside the tests is on no node.
    class Sits:
        def sit(self) -> None:
            pass

    monkeypatch.setattr(connection, "FREE", 1.0)
    taken = [ray.remote(num_cpus=1)(Sits).remote() for _ in range(2)]
    ray.get([each.sit.remote() for each in taken])
    cluster = connection.join(on)
    try:
        with pytest.raises(InvalidValue, match=r"is full: 0 of its 2 cores are free; wait for the others"):
            connection._wait_for_room(cluster)
    finally:
        for each in taken:
            ray.kill(each)
        connection.leave(cluster)
