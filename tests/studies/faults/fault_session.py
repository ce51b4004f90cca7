"""One session of a study in which something goes wrong."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from fedward.backends.compute import IN_PROCESS, Compute
from fedward.backends.in_process import InProcess
from fedward.backends.processes.watchdog import Patience
from fedward.backends.processes.workers import Workers
from fedward.base.durable_files import CannotWrite
from fedward.base.interrupts import Stopped, stop_on_signals
from fedward.core.digest import tensor_digest
from fedward.core.failure import TrainingFailed
from fedward.core.types import Job, Row
from fedward.rundir import checkpoint
from fedward.studies.progress import Progress
from studies.faults.fault_schedule import CODES, ENDS, FULL, SIGNALS, WORKERS, Fault
from studies.faults.faulted_studies import AnyStudy, small_steps
from studies.faults.simulated_disk import Image, SimulatedDisk
from studies.faults.system_entropy import SystemEntropy
from studies.killing import Killed

Released = dict[str, tuple[int, str]]
"""Rounds that were released last, and the digest of their model, by the checkpoint's place."""

Paid = dict[str, int]
"""How often each ledger has charged a round, by the file's place."""


class Session:
    """A study that is carried out while its file operations, jobs and steps are counted.

    Args:
      study: what is carried out.
      root: where.
      disk: knows what is durable below it, from the sessions before too.
      entropy: of what the system would give, so that it can be given again.
      fault: what goes wrong; nothing if None.
      moments: how many moments of each kind the study has when it is left alone.
    """

    def __init__(
        self,
        study: AnyStudy,
        root: Path,
        disk: SimulatedDisk,
        entropy: str,
        fault: Fault | None = None,
        moments: Counter[str] | None = None,
    ) -> None:
        self._study, self._root, self._disk, self._entropy, self._fault = study, root, disk, entropy, fault
        self.trace: list[str] = []
        self.paid: Paid = {}
        self.released: Released = {}
        self.happened = False
        self._count, self._due = 0, -1
        if fault is not None and moments is not None:
            self._due = int(fault.share * sum(moments[kind] for kind in fault.moments))
        self._choice = random.Random(0 if fault is None else fault.detail)
        self._offset = 0.0
        self._pids: tuple[int, ...] = ()
        self._dead, self._full = False, False
        self._image: Image | None = None

    def run(self) -> BaseException | None:
        """Carries it out; what ended it, if anything did, and leaves the disk as it is then."""
        ended: BaseException | None = None
        with pytest.MonkeyPatch.context() as patch, small_steps(), _quiet_signals():
            self._watch_jobs(patch)
            self._watch_clock(patch)
            SystemEntropy(self._entropy).replace_real(patch)
            self._disk.watch(patch, self._moment)
            try:
                with stop_on_signals():
                    self._study.carry_out(self._root, self._watch_steps, self._compute)
            except BaseException as error:
                ended = error.with_traceback(None)
        if self._image is not None:
            self._disk.restore(self._image)
        return ended

    @property
    def moments(self) -> Counter[str]:
        """How many moments of each kind there were."""
        return Counter(self.trace)

    @property
    def _compute(self) -> Compute:
        if self._fault is None or self._fault.kind not in WORKERS:
            return IN_PROCESS
        # Nobody but a stopped worker is ended so soon, however slow the machine is.
        return Compute(backend="processes", workers=1, patience=Patience(stopped=0.2))

    def problem(self, ended: BaseException | None) -> str:
        """What is wrong about the way in which the session ended; empty if nothing is."""
        fault = self._fault
        if ended is None:
            survived = self.happened and fault is not None and fault.kind in ENDS
            return f"{fault.kind} did not end it" if fault is not None and survived else ""
        if fault is None or not self.happened:
            return f"nothing went wrong, and it ended with {ended!r}"
        expected: tuple[type[BaseException], ...] = (Killed,)
        if fault.kind in CODES:
            expected = (CannotWrite,)
        elif fault.kind in SIGNALS:
            expected = (Stopped,)
        elif fault.kind == "out of memory":
            expected = (MemoryError, TrainingFailed)
        elif fault.kind in ("clock", "short writes", *WORKERS):
            expected = ()
        if not isinstance(ended, expected):
            return f"{fault.kind} ended it with {ended!r}"
        if fault.kind in CODES and ("\n" in str(ended) or os.strerror(CODES[fault.kind]) not in str(ended)):
            return f"one clear line was expected, got {ended}"
        return ""

    def _watch_jobs(self, patch: pytest.MonkeyPatch) -> None:
        def watched(real: Callable[..., Iterator[Row]]) -> Callable[..., Iterator[Row]]:
            def train(backend: InProcess | Workers, jobs: Iterable[Job]) -> Iterator[Row]:
                self.paid |= paid(self._root)
                if self._study.reserves and isinstance(jobs, tuple) and jobs:
                    charged = self.paid.get(self._study.reserves, 0)
                    assert charged > jobs[0].round, f"round {jobs[0].round} runs and {charged} are paid for"
                self._pids = () if isinstance(backend, InProcess) else backend.pids
                self._moment("job")
                for row in real(backend, jobs):
                    self._pids = () if isinstance(backend, InProcess) else backend.pids
                    self._moment("row")
                    yield row

            return train

        patch.setattr(InProcess, "train", watched(InProcess.train))
        patch.setattr(Workers, "train", watched(Workers.train))

    def _watch_clock(self, patch: pytest.MonkeyPatch) -> None:
        if self._fault is None or self._fault.kind != "clock":
            return
        for name in ("time", "monotonic"):
            real = getattr(time, name)
            patch.setattr(time, name, lambda real=real: real() + self._offset)

    def _watch_steps(self, steps: Iterable[Progress]) -> None:
        for step in steps:
            left = step.seconds_left
            assert left is None or (math.isfinite(left) and left >= 0), f"{left} seconds are left"
            assert 0 <= step.done <= step.total
            self.paid |= paid(self._root)
            self.released |= released(self._root)
            self._moment("step")

    def _moment(self, kind: str) -> int | None:
        """Something is about to be done; the fault comes when it is its turn."""
        if self._dead:
            raise Killed  # nobody tidies up after a kill or a loss of power
        self.trace.append(kind)
        fault = self._fault
        if fault is None or kind not in fault.moments:
            return None
        self._count += 1
        now = self._count == self._due + 1
        self.happened |= now
        if not self.happened:
            return None
        if fault.kind == "short writes":
            return self._choice.randint(1, 40)
        if fault.kind in CODES:
            return self._fail(fault, kind, now)
        if now and fault.kind == "killed" and kind == "write":
            self._dead = True
            return self._some_bytes()
        if now:
            self._strike(fault)
        return None

    def _fail(self, fault: Fault, kind: str, now: bool) -> int | None:
        if now and kind == "write" and fault.kind in FULL and fault.detail % 2:
            self._full = True  # a disk takes what fits, and refuses the rest
            return self._some_bytes()
        if not (now or fault.lasting or (self._full and kind == "write")):
            return None
        self._full = False
        raise OSError(CODES[fault.kind], os.strerror(CODES[fault.kind]))

    def _some_bytes(self) -> int:
        return int(2 ** self._choice.uniform(0, 14)) - 1

    def _strike(self, fault: Fault) -> None:
        if fault.kind == "killed":
            self._dead = True
            raise Killed
        if fault.kind == "out of memory":
            raise MemoryError
        if fault.kind == "clock":
            self._offset = self._choice.choice((-1, 1)) * 10 ** self._choice.uniform(-1, 6)
        elif fault.kind == "power loss":
            self._dead, self._image = True, self._disk.after_power_loss(self._choice)
            raise Killed
        elif fault.kind in SIGNALS:
            os.kill(os.getpid(), SIGNALS[fault.kind])
        elif fault.kind in WORKERS:
            number = signal.SIGKILL if fault.kind == "worker killed" else signal.SIGSTOP
            os.kill(self._choice.choice(self._pids), number)


def paid(root: Path) -> Paid:
    """The rounds that are charged in the ledgers on disk."""
    found: Paid = {}
    for file in root.rglob("ledger.json"):
        if file.parent.name.startswith("."):
            continue  # a copy on its way to its name
        found[str(file.relative_to(root))] = -1  # as long as it cannot be read
        with contextlib.suppress(ValueError):
            ledger = json.loads(file.read_text())
            charged = [*ledger["entries"], *([ledger["reserved"]] if ledger["reserved"] else [])]
            found[str(file.relative_to(root))] = sum(each["count"] for each in charged)
    return found


def released(root: Path) -> Released:
    """What the checkpoints on disk hold."""
    found: Released = {}
    for file in root.rglob("checkpoint.pt"):
        state = checkpoint.from_bytes(file.read_bytes(), str(file))
        found[str(file.relative_to(root))] = state.round, tensor_digest(state.parameters)
    return found


@contextlib.contextmanager
def _quiet_signals() -> Iterator[None]:
    """Signals must not be ignored, as they are in a job that a shell runs in the background."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS.values()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
