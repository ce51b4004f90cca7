"""Which backend an experiment runs on: in this process, or in one process for each core."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from torch import nn

from fedward.backends import InProcess, Workers
from fedward.backends.device import usable_device
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.validate import InvalidValue, whole

VARIABLE = "FEDWARD_WORKERS"


@contextmanager
def open_backend(
    model: nn.Module,
    federation: Federation,
    *,
    workers: int | None = None,
    device: str = "cpu",
    also: Sequence[Examples] = (),
) -> Iterator[InProcess | Workers]:
    """A backend for a while; its processes end with it.

    Args:
      workers: how many processes train; 0 trains in this one. If not given, the environment variable
        ``FEDWARD_WORKERS``, or else one for each core.
      device: where models are trained. Other devices than the CPU are used from this process.
      also: examples that models will be measured on, besides the federation's test set.
    """
    number = check_workers(workers, device)
    backend = (
        InProcess(model, federation, device=device)
        if number == 0
        else Workers(model, federation, workers=number, also=also)
    )
    try:
        yield backend
    finally:
        backend.close()


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
