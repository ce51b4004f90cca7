"""Ends a command on Ctrl-C or SIGTERM without leaving anything half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


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

    def take(self, number: int, frame: FrameType | None) -> None:
        if self.held:
            self.waiting = number
        else:
            raise Stopped(number)


_signals = _Signals()


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Within it SIGINT and SIGTERM raise ``Stopped``, but never in the middle of ``held``.

    A signal that the process was started to ignore stays ignored: a shell's job in the background is not to
    end by the Ctrl-C for another one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python takes signals in the main thread only
        return
    taken = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, _signals.take) for number in taken}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held() -> Iterator[None]:
    """Keeps signals back for a few moments: a file is written, or not, but nothing is left lying about."""
    _signals.held += 1
    try:
        yield
    finally:
        _signals.held -= 1
        if not _signals.held and _signals.waiting is not None:
            number, _signals.waiting = _signals.waiting, None
            raise Stopped(number)
