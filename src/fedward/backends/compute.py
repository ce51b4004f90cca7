"""Compute: where and how jobs run. It is never part of a result."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, get_args

from fedward.backends.engines.choice import Choice, choose_engine
from fedward.backends.engines.device import usable_device
from fedward.backends.engines.instructions import pin_instructions
from fedward.backends.processes.watchdog import USUAL, Patience
from fedward.backends.ray.cluster_address import read_address, require_ray
from fedward.base.instruction_sets import ENVIRONMENTS
from fedward.base.validate import InvalidValue, one_of, positive, whole

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
      patience: how long a worker process may be still at a job before it is taken to hang, and replaced.
      cluster: the Ray cluster that jobs run on: ``HOST:PORT``, ``auto`` for the one that this machine is a
        node of, or ``local:N`` for N nodes on this machine, for as long as the work takes.
      instructions: ``avx512``, ``avx2`` or ``portable``: the widest instruction set that is used, here and on
        every node, so that all of them round alike. None is the widest that a processor has.
      gpus: the share of a GPU that a task on the cluster takes, with another device than the CPU; 1 if None.

    >>> Compute(workers=2).processes
    2
    >>> Compute(backend="in-process").processes
    0
    """

    backend: Place = "auto"
    workers: int | None = None
    device: str = "cpu"
    engine: str | None = None
    patience: Patience = USUAL
    cluster: str | None = None
    instructions: str | None = None
    gpus: float | None = None

    def __post_init__(self) -> None:
        one_of("backend", self.backend, get_args(Place))
        if self.workers is not None:
            whole("workers", self.workers, at_least=0)
        if self.engine is not None:
            choose_engine(self.engine)
        if self.instructions is not None:
            one_of("instructions", self.instructions, ENVIRONMENTS)
        if self.gpus is not None:
            positive("gpus", self.gpus)
            if self.cluster is None or self.device == "cpu":
                raise InvalidValue(f"gpus is about tasks on a cluster with device cuda, got gpus {self.gpus}")
        if self.cluster is not None:
            read_address(self.cluster)
            if self.workers is not None or self.backend != "auto":
                got = f"backend {self.backend}" if self.workers is None else f"workers {self.workers}"
                raise InvalidValue(f"with a cluster its nodes say how many jobs run at once: leave out {got}")
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
        if self.instructions is not None:
            pin_instructions(self.instructions)
        if self.cluster is not None:
            require_ray()
        elif self.device != "cpu":
            usable_device(self.device)
        return self


IN_PROCESS = Compute(workers=0)
"""One job after the other in this process: to read, and to debug with."""
