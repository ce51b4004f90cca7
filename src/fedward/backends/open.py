"""The choice of a backend: this process, threads, or one worker process for each core."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

from fedward.backends import InProcess, Threads, Workers
from fedward.backends.engines.choice import Choice, chosen
from fedward.backends.engines.device import usable_device
from fedward.backends.engines.gram import is_linear
from fedward.backends.engines.native import instruction_set, why_not
from fedward.base.validate import InvalidValue, whole
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation

VARIABLE = "FEDWARD_WORKERS"


AnyBackend = InProcess | Workers | Threads


@contextmanager
def open_backend(
    model: nn.Module,
    federation: Federation,
    *,
    workers: int | None = None,
    device: str = "cpu",
    engine: Choice | None = None,
    also: Sequence[Examples] = (),
) -> Iterator[AnyBackend]:
    """A backend for a while; its threads and processes end with it.

    Args:
      workers: how many threads (of the native engine) or processes train; 0 trains in this one. If not given,
        the environment variable ``FEDWARD_WORKERS``, or else one for each core.
      device: where models are trained. Other devices than the CPU are used from this process.
      engine: ``auto``, ``native`` or ``generic``; if not given, the environment variable ``FEDWARD_ENGINE``.
      also: examples that models will be measured on, besides the federation's test set.
    """
    number = check_workers(workers, device)
    backend: AnyBackend
    if number == 0:
        backend = InProcess(model, federation, device=device, engine=engine)
    else:
        backend = Workers(model, federation, workers=number, also=also, engine=engine)
        if not why_generic(model, federation, device, engine):
            backend = Threads(model, federation, threads=number, rest=backend, engine=engine)
    try:
        yield backend
    finally:
        backend.close()


def why_generic(
    model: nn.Module, federation: Federation, device: str = "cpu", engine: Choice | None = None
) -> str:
    """Why a model is trained by the generic path, for people; empty if the native engine covers it."""
    if chosen(engine) == "generic":
        return "as asked for"
    if device != "cpu":
        return f"on {device}"
    if is_linear(model):
        return "in the Gram form, the model is linear"
    x = federation.examples.x
    return why_not(model, () if isinstance(x, Ragged) else tuple(x.shape[1:]))


def engine_in_words(
    model: nn.Module, federation: Federation, device: str = "cpu", engine: Choice | None = None
) -> str:
    """By what a model is trained, for people."""
    reason = why_generic(model, federation, device, engine)
    return f"generic engine: {reason}" if reason else f"native engine, {instruction_set()}"


def check_workers(workers: int | None, device: str) -> int | None:
    """How many processes to start, 0 for none, None for one for each core; raises if it cannot be so."""
    if workers is None and os.environ.get(VARIABLE):
        try:
            workers = int(os.environ[VARIABLE])
        except ValueError:
            raise InvalidValue(f"{VARIABLE} must be a whole number, got {os.environ[VARIABLE]!r}") from None
        if device != "cpu":
            workers = None  # a habit, not a wish
    if workers is not None:
        whole("workers", workers, at_least=0)
    if device == "cpu":
        return workers
    if workers:
        raise InvalidValue(f"workers train on the CPU: with device {device} use 0, got {workers}")
    usable_device(device)
    return 0
