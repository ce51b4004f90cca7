"""Two nodes of a Ray cluster on this machine, for all tests that need some."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from processes import alive

# Nothing may be sent anywhere, and Ray must not warn of its own future.
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}

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
    """All that run and have this word in their command."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if word in command and alive(int(folder.name)):
            found.append(int(folder.name))
    return found


def start_command(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """The real command, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "fedward", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
