"""Two nodes of a Ray cluster on this machine, for all tests that need some."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from processes import alive

# Nothing may be sent anywhere, and Ray must not warn of its own future.
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}

# Of all that this process starts, nodes of killed commands included: other tests may run on the same machine.
# pytest imports this file twice, once to look for doctests: both have the mark of the first.
if not os.environ.get("FEDWARD_TESTS", "").startswith(f"{os.getpid()}-"):
    os.environ["FEDWARD_TESTS"] = f"{os.getpid()}-{time.time_ns()}"
_MARK = os.environ["FEDWARD_TESTS"]

needs_ray = [
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'fedward[ray]'"
    ),
    # Starting nodes takes ten seconds: one process of pytest has all tests of them.
    pytest.mark.xdist_group("ray"),
    # Ray leaves sockets and files to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@contextmanager
def two_nodes() -> Iterator[str]:
    """Their address."""
    from fedward.backends.ray.local_raylets import LocalRaylets

    raylets = LocalRaylets(2)
    try:
        yield raylets.address
    finally:
        raylets.close()


def processes_with(word: str) -> list[int]:
    """All that these tests have started, that run, and that have this word in their command."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if word.encode() in command and alive(int(folder.name)) and _is_of_these_tests(int(folder.name)):
            found.append(int(folder.name))
    return found


def _is_of_these_tests(pid: int) -> bool:
    """Whether it or a parent bears the mark: Ray's workers write their titles where it was."""
    while pid > 1:
        try:
            if f"FEDWARD_TESTS={_MARK}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes():
                return True
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, PermissionError, ProcessLookupError):
            return False
    return False


def start_command(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """The real command, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "fedward", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
