"""The end of a command on Ctrl-C or SIGTERM, which leaves nothing half done."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
GRACE = 1.0
"""Seconds after a signal in which another one is the same wish: ``timeout`` sends two at once."""

_now = time.monotonic


class Stopped(BaseException):
    """The user or the system asked the process to end. Not an ``Exception``: nobody handles it by mistake."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(f"stopped by {signal.Signals(number).name}")


class _Signals:
    """What a process knows of its signals; there is one, as signals belong to the process."""

    def __init__(self) -> None:
        self.held = 0
        self.waiting: int | None = None
        self.since: float | None = None

    def take(self, number: int, frame: FrameType | None) -> None:
        if self.since is not None:
            # Never a second exception: it would come while threads are waited for, and Python 3.11 takes
            # a thread for ended whose join was interrupted, goes away under it, and is aborted.
            if _now() - self.since >= GRACE:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
        elif self.held:
            self.waiting = number
        else:
            self.stop(number)

    def stop(self, number: int) -> NoReturn:
        self.since = _now()
        raise Stopped(number)


_signals = _Signals()


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Within it SIGINT and SIGTERM raise ``Stopped``, but never in the middle of ``hold_signals``.

    A signal that the process was started to ignore stays ignored: a shell's job in the background is not to
    end by the Ctrl-C for another one. Who asks again while things are put in order, after ``GRACE``, ends the
    process at once; files are whole even then.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python takes signals in the main thread only
        return
    taken = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    _signals.since = None
    before = {number: signal.signal(number, _signals.take) for number in taken}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def hold_signals() -> Iterator[None]:
    """Keeps signals back for a few moments: a file is written, or not, but nothing is left lying about."""
    _signals.held += 1
    try:
        yield
    finally:
        _signals.held -= 1
        if not _signals.held and _signals.waiting is not None:
            number, _signals.waiting = _signals.waiting, None
            _signals.stop(number)
