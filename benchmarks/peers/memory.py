"""Runs a command and measures what all of its processes take together, from Linux' /proc."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
PROC = Path("/proc")

INTERVAL, SHARE = 0.1, 50.0
"""Seconds between two looks at the memory. A look walks through all pages of a process: it must not take
more than a fiftieth of the time, or it would slow down what it measures."""


class Failed(RuntimeError):
    """A command that ended with an error, took too long or left a process behind."""


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What was seen of one command.

    ``peak_bytes`` is the largest sum of PSS (private memory plus a fair share of what is shared) over all of
    its processes at one time, sampled.
    """

    seconds: float
    peak_bytes: int
    output: str


def watch(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout: float = 1800.0,
) -> Watched:
    """Runs the command to its end; no process of it stays, whatever happens.

    Args:
      environment: variables beside those of this process.
      folder: where it runs; here if not given.
      timeout: seconds after which it is ended.
    """
    # What `timeout` and job schedulers send must not leave the command running either.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    # Daemons that cut themselves loose (Ray's do) come back to this process instead of to init.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    peak, late = 0, False
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
            cwd=folder,
        )
        try:
            while True:
                begun = time.process_time()
                peak = max(peak, sum(map(pss, descendants())))
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(INTERVAL, SHARE * (time.process_time() - begun)))
                    break
                if late := time.perf_counter() - start > timeout:
                    break
            seconds = time.perf_counter() - start
            left = wait_for_none(0.0 if late else 30.0)
        finally:
            end(descendants())
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    said = "\n".join(texts[1].splitlines()[-60:])
    if late:
        raise Failed(f"it took more than {timeout:g} seconds\n{said}")
    if process.returncode:
        raise Failed(f"it ended with {process.returncode}\n{said}")
    if left:
        raise Failed(f"it left {len(left)} processes behind")
    return Watched(seconds=seconds, peak_bytes=peak, output=texts[0])


def descendants() -> list[int]:
    """Children of this process, their children, and so on."""
    children: dict[int, list[int]] = {}
    for folder in PROC.iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                # The name in parentheses may hold spaces; after it come the state and the parent.
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                if state != "Z":
                    children.setdefault(int(parent), []).append(int(folder.name))
    found = list(children.get(os.getpid(), []))
    for pid in found:
        found += children.get(pid, [])
    return found


def pss(pid: int) -> int:
    """Bytes of one process; 0 if it is gone."""
    with contextlib.suppress(OSError):
        for line in (PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def wait_for_none(seconds: float) -> list[int]:
    """Gives what is left of a command some time to end by itself, and returns what did not."""
    deadline = time.monotonic() + seconds
    while (left := descendants()) and time.monotonic() < deadline:
        time.sleep(0.05)
    _reap()
    return left


def end(pids: Sequence[int]) -> None:
    """Ends these processes, and takes leave of those that have ended."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
        if not wait_for_none(5.0):
            return


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
