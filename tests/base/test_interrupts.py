from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedward.base import interrupts
from fedward.base.durable_files import write_atomically
from fedward.base.interrupts import Stopped, hold_signals, stop_on_signals


@pytest.fixture(autouse=True)
def _in_the_foreground() -> Iterator[None]:
    """Tests that run in the background inherit that SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_what_is_done(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Stopped, match=f"stopped by {number.name}"), stop_on_signals():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_a_second_signal_soon_after_is_the_same_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_now", lambda: 5.0)
    steps = []

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
            steps.append("put in order")

    for _ in range(2):  # the second time it is a first signal again
        with pytest.raises(Stopped, match="SIGTERM"), stop_on_signals():
            work()
    assert steps == ["put in order"] * 2


SLOW_TO_END = """
import os, signal, sys, time
from fedward.base import interrupts
clock = [0.0]
interrupts._now = lambda: clock[0]
with interrupts.stop_on_signals():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        clock[0] = float(sys.argv[1])
        os.kill(os.getpid(), signal.SIGTERM)
        print("put in order")
"""


@pytest.mark.parametrize(("seconds", "killed"), [(0.5, False), (1.5, True)])
def test_who_asks_again_later_ends_the_process_at_once(seconds: float, killed: bool) -> None:
    command = [sys.executable, "-c", SLOW_TO_END, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode == -signal.SIGTERM, done.stdout) == (killed, "" if killed else "put in order\n")


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with stop_on_signals():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_signal_waits_until_a_file_is_written() -> None:
    steps = []

    def write() -> None:
        with hold_signals(), hold_signals():
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("inside")
        steps.append("after")

    with pytest.raises(Stopped), stop_on_signals():
        write()
    assert steps == ["inside"]
    with hold_signals():  # nothing is waiting any more
        pass


def test_a_file_is_whole_or_not_there_and_nothing_lies_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def interrupted(descriptor: int) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(Stopped), stop_on_signals():
        write_atomically(tmp_path / "file", b"content")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"content"


def test_other_threads_leave_the_signals_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    found = []

    def other() -> None:
        with stop_on_signals():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [before]
