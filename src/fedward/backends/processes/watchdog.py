"""The watchdog of worker processes: it notices one that is stopped or hangs, and ends it."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from fedward.base.validate import positive

INTERVAL = 1.0
"""Seconds between looks at the workers, or less where patience is short."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Seconds that a worker may go without getting on with its job, before it is ended and replaced.

    Only time in which this process waits for the worker counts, so a suspended or busy parent ends nobody. A
    worker that computes, wants to compute or waits for a disk is never called idle, however slow the machine.

    Args:
      stopped: while it is stopped (SIGSTOP).
      idle: while it sleeps and computes nothing, as in a deadlock.
      busy: while it computes and comes to no end. It counts from the first chunk of jobs that was finished:
        before that nobody knows how long one takes.
      factor: times what its chunk of jobs should take by those before it: the least that ``idle`` and
        ``busy`` come to.
    """

    stopped: float = 20.0
    idle: float = 300.0
    busy: float = 3600.0
    factor: float = 50.0

    def __post_init__(self) -> None:
        for name in ("stopped", "idle", "busy", "factor"):
            positive(f"patience {name}", vars(self)[name])

    @property
    def interval(self) -> float:
        return min(INTERVAL, self.stopped / 4, self.idle / 4, self.busy / 4)


USUAL = Patience()


class Look(NamedTuple):
    """What the system says of a process: its state, and how much it has computed, in any unit."""

    state: Literal["stopped", "asleep", "awake"]
    computed: int = 0


class Watched(Protocol):
    """A worker process, as the watchdog knows it."""

    @property
    def pid(self) -> int: ...

    @property
    def position(self) -> tuple[int, int]:
        """The chunk and the job in it that it is at."""
        ...

    @property
    def expected(self) -> float | None:
        """Seconds that its chunk should take; None while nobody knows."""
        ...

    def put_down(self, why: str) -> None:
        """Ends it at once."""
        ...


@dataclass
class _Record:
    """How long a worker has been at one job, and how long without computing, or stopped."""

    position: tuple[int, int]
    computed: int = 0
    at_it: float = 0.0
    quiet: float = 0.0
    stopped: float = 0.0


class Watchdog:
    """A thread that looks at the workers while somebody waits for them.

    The one that waits may be blocked in the middle of a message to or from a stopped worker: the end of that
    worker is what sets it free.

    Args:
      patience: how long a worker may be still.
      look: what the system says of a process.
    """

    def __init__(self, patience: Patience, look: Callable[[int], Look] | None = None) -> None:
        self._patience, self._look = patience, look or look_at
        self._watched: Collection[Watched] = ()
        self._records: weakref.WeakKeyDictionary[Watched, _Record] = weakref.WeakKeyDictionary()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def waiting(self, workers: Collection[Watched]) -> Iterator[None]:
        """Within it these are waited for."""
        if self._thread is None and not self._ended.is_set():
            self._thread = threading.Thread(target=self._run, name="fedward-watchdog", daemon=True)
            self._thread.start()
        before, self._watched = self._watched, workers
        try:
            yield
        finally:
            self._watched = before

    def close(self) -> None:
        """Ends the thread; may be called again."""
        self._ended.set()

    def look(self, seconds: float) -> None:
        """Adds so many seconds to what is known of those that are waited for, and ends who was too long."""
        for worker in tuple(self._watched):
            position = worker.position
            record = self._records.get(worker)
            if record is None or record.position != position:
                record = self._records[worker] = _Record(position)
            state, computed = self._look(worker.pid)
            moved = computed != record.computed or state == "awake"
            record.computed = computed
            record.at_it += seconds
            record.stopped = record.stopped + seconds if state == "stopped" else 0.0
            record.quiet = 0.0 if moved else record.quiet + seconds
            if why := self._verdict(record, worker.expected):
                worker.put_down(why)

    def _verdict(self, record: _Record, expected: float | None) -> str:
        patience = self._patience
        least = patience.factor * (expected or 0.0)
        if record.stopped >= patience.stopped:
            return f"stopped for {record.stopped:.3g} seconds"
        if record.quiet >= max(patience.idle, least):
            return f"no sign of life for {record.quiet:.3g} seconds"
        if expected is not None and record.at_it >= max(patience.busy, least):
            return f"no end of one job in {record.at_it:.3g} seconds"
        return ""

    def _run(self) -> None:
        interval, last = self._patience.interval, time.monotonic()
        while not self._ended.wait(interval):
            now = time.monotonic()
            # A longer gap is one in which this process was suspended, or got no turn: its workers as well.
            seconds, last = min(max(0.0, now - last), 2 * interval), now
            self.look(seconds)


def look_at(pid: int) -> Look:
    """What Linux says of a process; elsewhere every process is awake."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return Look("awake")
    # proc(5): the state is the third field; utime and stime of all threads are the fourteenth and fifteenth.
    state: Literal["stopped", "asleep", "awake"] = "awake"
    if fields[0] == "T":  # "t" is a debugger's
        state = "stopped"
    elif fields[0] in "SI":
        state = "asleep"
    return Look(state, int(fields[11]) + int(fields[12]))
