"""The choice of a backend: this process, threads, or one worker process for each core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

from fedward.backends.compute import Compute
from fedward.backends.engines.gram import LINEAR_MODEL, is_linear
from fedward.backends.engines.native import instruction_set, why_not
from fedward.backends.in_process import InProcess
from fedward.backends.processes.workers import Workers
from fedward.backends.protocol import Backend
from fedward.backends.threaded import Threads
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation


@contextmanager
def open_backend(
    model: nn.Module, federation: Federation, compute: Compute, *, also: Sequence[Examples] = ()
) -> Iterator[Backend]:
    """A backend for a while; its threads and processes end with it.

    Args:
      also: examples that models will be measured on, besides the federation's test set.
    """
    backend = make_backend(model, federation, compute, also=also)
    try:
        yield backend
    finally:
        backend.close()


def make_backend(
    model: nn.Module, federation: Federation, compute: Compute, *, also: Sequence[Examples] = ()
) -> Backend:
    """The backend itself, for whoever closes it."""
    compute.check()
    if compute.cluster is not None:
        from fedward.backends.ray.cluster_jobs import ClusterJobs

        return ClusterJobs(model, federation, compute)
    number, engine = compute.processes, compute.choice
    if number == 0:
        return InProcess(model, federation, device=compute.device, engine=engine)
    reason = why_generic(model, federation, compute)
    if compute.backend == "threads" and reason:
        raise InvalidValue(f"threads are of the native engine, and this model is trained {reason}")
    workers = Workers(model, federation, workers=number, also=also, engine=engine, patience=compute.patience)
    if reason or compute.backend == "processes":
        return workers
    return Threads(model, federation, threads=number, rest=workers, engine=engine)


def why_generic(model: nn.Module, federation: Federation, compute: Compute) -> str:
    """Why a model is trained by the generic path, for people; empty if the native engine covers it."""
    if compute.choice == "generic":
        return "as asked for"
    if compute.device != "cpu":
        return f"on {compute.device}"
    if is_linear(model):
        return LINEAR_MODEL
    x = federation.examples.x
    return why_not(model, () if isinstance(x, Ragged) else tuple(x.shape[1:]))


def engine_in_words(model: nn.Module, federation: Federation, compute: Compute) -> str:
    """By what a model is trained, for people."""
    reason = why_generic(model, federation, compute)
    return f"generic engine: {reason}" if reason else f"native engine, {instruction_set()}"
