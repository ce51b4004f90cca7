"""Every backend keeps what ``Backend`` promises."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from torch import nn

from fedward.backends.compute import Compute
from fedward.backends.engines.native import available
from fedward.backends.open import make_backend
from fedward.backends.protocol import Backend
from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.studies.sweep.shared_jobs import SharedJobs
from fedward.testing import check_backend
from fedward.testing.backend_jobs import jobs_of, network, people

Maker = Callable[[nn.Module, Federation], Backend]


def made(compute: Compute) -> Maker:
    return lambda model, federation: make_backend(model, federation, compute)


def shared(model: nn.Module, federation: Federation) -> Backend:
    """The backend of a sweep: equal jobs of one round run once."""
    backend = SharedJobs(make_backend(model, federation, Compute(backend="in-process")))
    backend.next_round(2)
    return backend


WITH_WORKERS: dict[str, Maker] = {
    "one process": made(Compute(backend="processes", workers=1)),
    "two processes": made(Compute(backend="processes", workers=2)),
}
if available():
    WITH_WORKERS["threads"] = made(Compute(backend="threads", workers=2))
BACKENDS: dict[str, Maker] = {
    "in process": made(Compute(backend="in-process")),
    "shared": shared,
    **WITH_WORKERS,
}


@pytest.mark.parametrize("name", BACKENDS)
def test_every_backend_keeps_its_promises(name: str) -> None:
    # Equal jobs are seen only where all jobs of a round are known.
    report = check_backend(BACKENDS[name], streams=name != "shared")
    if name not in ("threads", "shared"):
        assert not report.skipped


@pytest.mark.parametrize("name", WITH_WORKERS)
def test_what_had_workers_refuses_work_after_it_was_closed(name: str) -> None:
    backend = WITH_WORKERS[name](network(), people())
    list(backend.train(jobs_of(network(), [0])))
    backend.close()
    with pytest.raises(InvalidValue, match="closed"):
        list(backend.train(jobs_of(network(), [0])))
