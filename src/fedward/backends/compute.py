"""Compute: where and how jobs run. It is never part of a result."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, get_args

from fedward.backends.engines.choice import Choice, choose_engine
from fedward.backends.engines.device import usable_device
from fedward.base.validate import InvalidValue, one_of, whole

VARIABLE = "FEDWARD_WORKERS"

Place = Literal["auto", "in-process", "threads", "processes"]


@dataclass(frozen=True, kw_only=True)
class Compute:
    """Where and how jobs run. Results are the same for all values, up to the rounding of engine and device.

    Args:
      backend: ``in-process``, ``threads`` (of the native engine), ``processes``, or ``auto``: threads where
        the native engine covers the model, else processes; this process where ``workers`` is 0.
      workers: how many threads or processes train; 0 trains in this process. None is what the environment
        variable ``FEDWARD_WORKERS`` says, or else one for each core.
      device: where models are trained. Other devices than the CPU are used from this process.
      engine: ``auto``, ``native`` or ``generic``. None is what ``FEDWARD_ENGINE`` says, or else ``auto``.
      address: of a cluster. No backend of this version runs on one: anything but None is refused.

    >>> Compute(workers=2).processes
    2
    >>> Compute(backend="in-process").processes
    0
    """

    backend: Place = "auto"
    workers: int | None = None
    device: str = "cpu"
    engine: str | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        one_of("backend", self.backend, get_args(Place))
        if self.workers is not None:
            whole("workers", self.workers, at_least=0)
        if self.engine is not None:
            choose_engine(self.engine)
        if self.address is not None:
            raise InvalidValue(f"address must be left out: this version has no clusters, got {self.address}")
        if self.backend == "in-process" and self.workers:
            raise InvalidValue(f"backend in-process has no workers: use 0, got {self.workers}")
        if self.backend in ("threads", "processes") and (self.workers == 0 or self.device != "cpu"):
            got = "0" if self.workers == 0 else f"device {self.device}"
            raise InvalidValue(f"backend {self.backend} needs workers on the CPU, got {got}")
        if self.device != "cpu" and self.workers:
            raise InvalidValue(
                f"workers train on the CPU: with device {self.device} use 0, got {self.workers}"
            )

    @property
    def processes(self) -> int | None:
        """How many threads or processes there will be: 0 for none, None for one for each core."""
        if self.device != "cpu" or self.backend == "in-process":
            return 0
        told = os.environ.get(VARIABLE)
        if self.workers is not None or not told:
            return self.workers
        if not told.strip().lstrip("+-").isdecimal():
            raise InvalidValue(f"{VARIABLE} must be a whole number, got {told!r}")
        return whole("workers", int(told), at_least=0)

    @property
    def choice(self) -> Choice:
        """The engine."""
        return choose_engine(self.engine)

    def check(self) -> Compute:
        """The same value, if this machine and its environment variables allow it; raises if not."""
        _ = self.processes, self.choice
        if self.device != "cpu":
            usable_device(self.device)
        return self


IN_PROCESS = Compute(workers=0)
"""One job after the other in this process: to read, and to debug with."""
