"""A trial: the chosen tests, run on a copy of the source that may hold a mutation."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mutation import ROOT, SOURCE, TESTS, Mutation

Outcome = Literal["caught", "survived", "no verdict"]

# Far beyond what any of the tests takes: a mutation may go round in circles for ever.
_PATIENCE = 600.0
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What the tests said. ``by`` names the first that failed, or says why there is no verdict."""

    outcome: Outcome
    by: str
    seconds: float


@dataclass
class Laboratory:
    """Runs trials, and ends those that are under way when it is told to stop."""

    running: set[subprocess.Popen[str]] = field(default_factory=set)
    stopped: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def try_out(self, mutation: Mutation) -> Trial:
        """Whether the tests of a mutation notice it."""
        return self.run(mutation.tests, mutation)

    def run(self, tests: Sequence[str], mutation: Mutation | None = None) -> Trial:
        """Runs tests on a copy of the source, up to the first that fails."""
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="fedward-mutant-") as folder:
            source = Path(folder) / "src"
            shutil.copytree(SOURCE, source, ignore=shutil.ignore_patterns("*.egg-info"))
            if mutation is not None:
                mutation.write(source)
            environment = copy_environment(source)
            if (found := imported_from(environment)) != source / "fedward":
                return Trial(outcome="no verdict", by=f"imported {found}, not the copy", seconds=0.0)
            code, output = self._pytest(tests, environment)
        outcome, by = verdict(code, output)
        return Trial(outcome=outcome, by=by, seconds=time.monotonic() - begun)

    def stop(self) -> None:
        """Ends what is under way; nothing more is started."""
        with self.lock:
            self.stopped = True
            for process in self.running:
                os.killpg(process.pid, signal.SIGKILL)

    def _pytest(self, tests: Sequence[str], environment: dict[str, str]) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
        command += [str(TESTS / name) for name in tests]
        with self.lock:
            if self.stopped:
                return -signal.SIGKILL, ""
            # A session of its own: its workers end with it.
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.running.add(process)
        try:
            output, _ = process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return -signal.SIGALRM, ""
        finally:
            with self.lock:
                self.running.discard(process)
        return process.returncode, output


def verdict(code: int, output: str) -> tuple[Outcome, str]:
    """What an end of pytest means for a mutation: only a test that failed has caught it.

    >>> verdict(1, "FAILED tests/core/test_round.py::test_it - assert 1 == 2")
    ('caught', 'core/test_round.py::test_it')
    >>> verdict(0, "5 passed")
    ('survived', '')
    """
    if code == 0:
        return "survived", ""
    names = _FAILED.findall(output)
    if code == 1 and names:
        return "caught", names[0].removeprefix("tests/")
    if code == -signal.SIGALRM:
        return "caught", f"the tests did not end within {_PATIENCE:.0f} s"
    last = output.strip().splitlines()[-1:] or ["stopped"]
    return "no verdict", f"pytest ended with {code}: {last[0]}"


def copy_environment(source: Path) -> dict[str, str]:
    """The environment in which Python, and every process it starts, imports fedward from a copy."""
    return os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "COLUMNS": "200"}


def imported_from(environment: dict[str, str]) -> Path:
    """The folder that fedward is imported from in an environment: an installed one must not win."""
    command = [sys.executable, "-c", "import importlib.util as u; print(u.find_spec('fedward').origin)"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return Path(found.stdout.strip()).parent
