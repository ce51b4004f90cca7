"""The parent's handle on a worker process: it starts it, sends it chunks and takes back results."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from torch import Tensor

from fedward.backends.processes import worker_start
from fedward.backends.processes.chunks import Chunk
from fedward.backends.processes.shared_data import SharedData, anonymous_file
from fedward.backends.processes.worker import PROGRESS
from fedward.backends.processes.worker_buffers import allocate_tensors, read
from fedward.backends.processes.worker_holdings import Holdings
from fedward.core.examples import Examples

# Read when torch and numpy are imported, so it has to be there before.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}

PATIENCE = 5.0
"""Seconds for a process to end by itself."""


class Died(Exception):
    """The process is gone, or cannot be talked to any more."""


class End(NamedTuple):
    """How a process ended: its exit code, where it was (None if at no chunk), and what it wrote last.

    ``verdict`` is why the watchdog ended it; empty if it did not.
    """

    code: int
    at: tuple[Chunk, int] | None
    words: str
    verdict: str = ""

    @property
    def how(self) -> str:
        if self.verdict:
            return self.verdict
        if self.code >= 0:
            return f"exit code {self.code}"
        if -self.code == signal.SIGKILL:
            return "signal 9: perhaps out of memory"
        return f"signal {-self.code}: {signal.strsignal(-self.code)}"


class WorkerProcess:
    """Starts a process, sends it chunks and takes back what came out, in the order they were sent.

    It is no ``multiprocessing.Process``, because that runs the caller's script again: a script without a main
    guard, a notebook and an interactive session would not do.
    """

    def __init__(self, data: SharedData, shared: Sequence[Examples]) -> None:
        self.held: deque[tuple[int, Chunk]] = deque()
        self.ready = False
        self.broken = False  # by us: it is not the job's fault
        self._end: End | None = None
        self._verdict = ""
        self._sent = 0
        self._holdings = Holdings(shared)
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            here, there = socket.socketpair()
            self.connection = Connection(here.detach())
            ours.callback(self.connection.close)
            theirs.callback(there.close)
            self._words = anonymous_file(1)
            ours.callback(os.close, self._words)
            page = anonymous_file(PROGRESS.size)
            theirs.callback(os.close, page)
            self._progress = mmap.mmap(page, PROGRESS.size)
            stderr = _stderr()
            theirs.callback(os.close, stderr)
            start = {
                "socket": there.fileno(),
                "data": data.file,
                "where": data.where,
                "progress": page,
                "stderr": stderr,
                "path": [entry for entry in sys.path if isinstance(entry, str)],
            }
            # -P: the folder of the script must not come before the standard library.
            self._process = subprocess.Popen(
                [sys.executable, "-P", worker_start.__file__, json.dumps(start)],
                stdin=subprocess.DEVNULL,
                stderr=self._words,
                pass_fds=(there.fileno(), data.file, page, stderr),
                env=os.environ | ENVIRONMENT,
            )
            self._let_go = ours.pop_all()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def position(self) -> tuple[int, int]:
        """The number of the chunk and the place in it that the process is at."""
        number, place = PROGRESS.unpack_from(self._progress)
        return number, place

    @property
    def expected(self) -> float | None:
        """Seconds that the chunk at hand should take, by those before it; None while nobody knows."""
        try:
            _, chunk = self.held[0]
        except IndexError:  # it has just been taken back
            return None
        return None if chunk.pace.rate is None else chunk.pace.rate * chunk.weight

    def put_down(self, why: str) -> None:
        """Ends the process at once; whoever talks to it finds it dead, and why."""
        self._verdict = self._verdict or why
        self._process.kill()

    def send(self, chunk: Chunk) -> None:
        """Sends a chunk; raises ``Died`` if the process is gone."""
        self._sent += 1
        self.held.append((self._sent, chunk))
        items = (self._holdings.jobs if chunk.task == "train" else self._holdings.models)(chunk.items)
        examples = None if chunk.examples is None else self._holdings.examples(chunk.examples)
        new, drop = self._holdings.settle()
        message = {"number": self._sent, "task": chunk.task, "examples": examples, "items": items}
        self._write(pickle.dumps(message | {"new": new, "drop": drop}, protocol=5))

    def take_back(self) -> None:
        """Tells the process not to go on with chunks that were dropped; it still answers for each."""
        if numbers := [number for number, chunk in self.held if chunk.dropped]:
            self._write(worker_start.CANCEL + json.dumps(numbers).encode())

    def receive(self) -> tuple[Chunk, Mapping[str, Any], list[Tensor]] | None:
        """One chunk with its header and tensors; None if the process only says that it is ready."""
        try:
            header = json.loads(self.connection.recv_bytes())
            if not header:
                self.ready = True
                return None
            tensors, several = allocate_tensors(header["kinds"])
            read(self.connection.fileno(), several)
        except (EOFError, OSError) as error:
            raise Died from error
        except BaseException:
            self.broken = True  # the rest of the message would be taken for the next one
            raise
        number, chunk = self.held.popleft()
        if number != header["number"]:
            raise AssertionError(f"chunk {number} must come back first, got {header['number']}")
        return chunk, header, tensors

    def hang_up(self) -> None:
        """Lets the process end by itself, as it does when its parent is gone."""
        self.connection.close()

    def end(self, patience: float = PATIENCE) -> End:
        """Waits some seconds for the end or forces it, and lets go of everything."""
        if self._end is not None:
            return self._end
        self.hang_up()
        try:
            code = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        number, place = self.position
        at = next(((chunk, place) for held, chunk in self.held if held == number), None)
        words = os.pread(self._words, 2**16, max(0, os.fstat(self._words).st_size - 2**16))
        self._end = End(code, at, _last_lines(words.decode(errors="replace")), self._verdict)
        self._let_go.close()
        return self._end

    def _write(self, message: bytes) -> None:
        try:
            self.connection.send_bytes(message)
        except OSError as error:
            raise Died from error
        except BaseException:
            self.broken = True  # half a message is worse than none
            raise


def _last_lines(words: str, lines: int = 8) -> str:
    return "\n".join(words.strip("\0\n ").splitlines()[-lines:])


def _stderr() -> int:
    try:
        return os.dup(2)
    except OSError:  # a daemon may have none
        return os.open(os.devnull, os.O_WRONLY)
