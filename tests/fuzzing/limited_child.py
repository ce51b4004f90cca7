"""Work in a child process of its own, with an end to its time and its memory."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60.0
"""Of computing; of waiting it may be more, on a machine that others use as well."""
WAITING = 240.0
MEMORY = 6 << 30


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a child ended.

    Args:
      code: its exit code; minus the signal that ended it.
      printed: all that it printed.
    """

    code: int
    printed: str

    @property
    def problem(self) -> str:
        """What nobody should ever see; empty if all is well."""
        if self.code in (-signal.SIGALRM, -signal.SIGPROF):
            return f"no end within {SECONDS:g} s"
        if self.code < 0:
            return f"ended by signal {-self.code}"
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        if "Traceback (most recent call last)" in self.printed:
            return "traceback"
        return "" if self.code == 0 or self.printed.strip() else "fails without a word"


def carry_out(work: Callable[[], int | None], folder: Path) -> Outcome:
    """Does it in a child that begins in this folder; an exception that it lets through is a traceback."""
    with tempfile.TemporaryFile() as printed:
        child = os.fork()
        if not child:
            _child(work, folder, printed.fileno())
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # workers that it left behind
        printed.seek(0)
        return Outcome(
            code=os.waitstatus_to_exitcode(status), printed=printed.read().decode(errors="replace")
        )


def _child(work: Callable[[], int | None], folder: Path, printed: int) -> None:
    code = 1
    try:
        os.setsid()
        for stream in (1, 2):
            os.dup2(printed, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        # What pytest put there goes elsewhere.
        sys.stdout = os.fdopen(1, "w", closefd=False, errors="backslashreplace")
        sys.stderr = os.fdopen(2, "w", closefd=False, errors="backslashreplace")
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        faulthandler.disable()
        warnings.simplefilter("ignore")  # which are errors where tests run
        for each in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(each, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, WAITING)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        code = work() or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code & 0xFF)
