"""Worker processes that chunks are handed to, and what happens when one of them dies or hangs."""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from functools import partial
from multiprocessing.connection import wait
from typing import Any

from torch import Tensor

from fedward.backends.processes.chunks import Chunk, Cutter, Pace, Task
from fedward.backends.processes.shared_data import SharedData
from fedward.backends.processes.watchdog import Patience, Watchdog
from fedward.backends.processes.worker_failures import rebuilt
from fedward.backends.processes.worker_process import PATIENCE, Died, End, WorkerProcess
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed

UNDER_WAY = 2
"""Chunks with each worker, so that it has the next one when it has done one."""

AHEAD = 3
"""Chunks for each worker that are with it, or done and not asked for yet: this bounds memory."""

GLANCE = 0.005
"""Seconds between looks at the workers while a caller takes results that are there."""

_log = logging.getLogger(__name__)


class Pool:
    """Hands chunks to worker processes and gives back results in order, for any number of calls at once.

    Processes start when there is something for them to do. Calls may be nested: the items of one may be made
    from the results of another.

    Args:
      size: the largest number of processes.
      shared: examples that all of them read.
      share: puts those where they can, when the first process starts.
      patience: how long a process may be still before it is ended and replaced.
    """

    def __init__(
        self,
        size: int,
        shared: Sequence[Examples],
        share: Callable[[], SharedData],
        patience: Patience | None = None,
    ) -> None:
        self._size, self._shared, self._share = size, shared, share
        self._watchdog = Watchdog(patience or Patience())
        self._data: SharedData | None = None
        self._processes: list[WorkerProcess] = []
        self._waiting: deque[Chunk] = deque()
        self._deaths = 0  # since anything was finished
        self._looked = 0.0
        self._closed = False
        self._owner = os.getpid()

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(process.pid for process in self._processes)

    def check_open(self) -> None:
        if self._closed:
            raise InvalidValue("workers must be open, but these were closed; make new ones")

    def run(
        self, task: Task, cutter: Cutter, pace: Pace, examples: Examples | None = None
    ) -> Generator[tuple[Any, Any, Tensor | None]]:
        """Each item with what came out of it, in order; raises what went wrong first in that order."""
        ahead: deque[Chunk] = deque()

        def feed() -> None:
            # One chunk is made even if others have all the workers: none means that there are no more items.
            while len(ahead) < AHEAD * self._size and (not ahead or self._has_room()):
                if not (taken := cutter.cut()):
                    return
                items, weight = [each.item for each in taken], sum(each.weight for each in taken)
                ahead.append(Chunk(task=task, items=items, weight=weight, pace=pace, examples=examples))
                self._waiting.append(ahead[-1])
                self._dispatch()

        try:
            while True:
                self.check_open()
                feed()
                if not ahead:
                    break
                if ahead[0].results is None:
                    self._turn(None)
                    continue
                chunk = ahead.popleft()
                for item, (value, tensor) in zip(chunk.items, chunk.results or (), strict=False):
                    yield item, value, tensor
                    self.check_open()
                    if time.monotonic() - self._looked > GLANCE:
                        feed()
                        self._turn(0)
                if chunk.failure is not None:
                    raise chunk.failure
            if cutter.error is not None:
                raise cutter.error
        finally:
            # Nothing is sent from here: a generator may be closed by the garbage collector at any moment.
            for chunk in ahead:
                chunk.dropped = True

    def close(self) -> None:
        """Ends all processes; may be called again, and after an interrupt goes on where it was."""
        if os.getpid() != self._owner:  # a fork must not end its parent's workers
            return
        self._closed = True
        self._watchdog.close()
        for process in self._processes:
            process.hang_up()
        end = time.monotonic() + PATIENCE
        while self._processes:
            self._processes[-1].end(max(0.0, end - time.monotonic()))
            self._processes.pop()
        if self._data is not None:
            self._data.close()

    def _has_room(self) -> bool:
        free = len(self._processes) < self._size or any(len(p.held) < UNDER_WAY for p in self._processes)
        return free and not self._waiting

    def _turn(self, timeout: float | None) -> None:
        """Hands out what waits and takes in what has come; waits for something if told so."""
        self._looked = time.monotonic()
        for process in list(self._processes):
            if process.broken:
                self._bury(process)
            else:
                self._attempt(process, process.take_back)
        self._dispatch()
        connections = {process.connection: process for process in self._processes}
        with self._watchdog.waiting([process for process in self._processes if process.held]):
            ready = wait(list(connections), timeout)
        for connection in ready:
            process = connections[connection]  # type: ignore[index]
            self._attempt(process, partial(self._receive, process))
        self._dispatch()

    def _attempt(self, process: WorkerProcess, action: Callable[[], None]) -> None:
        try:
            with self._watchdog.waiting([process]):
                action()
        except Died:
            self._bury(process)

    def _dispatch(self) -> None:
        while self._waiting:
            if self._waiting[0].dropped or self._waiting[0].results is not None:
                self._waiting.popleft()
                continue
            process = self._free()
            if process is None:
                return
            self._attempt(process, partial(process.send, self._waiting.popleft()))

    def _free(self) -> WorkerProcess | None:
        able = [process for process in self._processes if not process.broken]
        least = min(able, key=lambda process: len(process.held), default=None)
        if len(self._processes) < self._size and (least is None or least.held):
            return self._start()
        return least if least is not None and len(least.held) < UNDER_WAY else None

    def _start(self) -> WorkerProcess:
        try:
            if self._data is None:
                self._data = self._share()
            process = WorkerProcess(self._data, self._shared)
        except OSError as error:
            raise TrainingFailed(f"a worker process could not be started: {error}") from error
        self._processes.append(process)
        return process

    def _receive(self, process: WorkerProcess) -> None:
        received = process.receive()
        if received is None:
            return
        self._deaths = 0
        chunk, header, tensors = received
        if not chunk.dropped:
            results = list(itertools.zip_longest(header["values"], tensors))  # metrics have no tensors
            failure = None if header["failure"] is None else rebuilt(header["failure"])
            if failure is None and len(results) != len(chunk.items):
                raise AssertionError(f"{len(chunk.items)} results must come back, got {len(results)}")
            chunk.done(results, failure, header["seconds"])

    def _bury(self, process: WorkerProcess) -> None:
        """Puts what a dead process held first in line again, and gives up what cannot be done."""
        ours, process.broken = process.broken, True  # if this is interrupted, the next turn does it again
        end = process.end()
        self._processes.remove(process)
        self._waiting.extendleft(chunk for _, chunk in reversed(process.held))
        if ours:
            return
        self._deaths += 1
        if end.verdict:
            _log.warning(_notice(process, end))
        if end.at is not None:
            chunk, place = end.at
            chunk.note_death(place, end.how)
        if not process.ready and end.code >= 0:
            raise TrainingFailed(f"a worker process could not start ({end.how}):\n{end.words}")
        if self._deaths > 5 + self._size:
            why = f"worker processes died {self._deaths} times and finished nothing ({end.how})"
            raise TrainingFailed(why)


def _notice(process: WorkerProcess, end: End) -> str:
    """One line about a process that the watchdog ended."""
    where = "between jobs" if process.ready else "while it started"
    if end.at is not None:
        chunk, place = end.at
        where = "at a model that it measured"
        if chunk.task == "train":
            job = chunk.items[place][0]
            where = f"at user {job.user}" + ("" if job.round is None else f" in round {job.round + 1}")
    return (
        f"worker process {process.pid}, {end.verdict} {where}, was ended; a new one runs what it had again, "
        "with the same result"
    )
