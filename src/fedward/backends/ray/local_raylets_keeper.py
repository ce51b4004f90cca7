"""The process that starts nodes of a cluster on this machine, and ends all of them when its parent is gone.

It is run as a file of its own, so that it needs nothing but Ray, and stays when its parent is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

_ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER of prctl: what our children leave behind becomes ours."""

_LONGEST = 20
"""Letters of a folder for temporary files that leave room for a socket's name."""


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends us
    wanted = json.loads(sys.argv[1])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    # Short: the paths of Ray's sockets begin with it, and have at most 107 letters.
    short = "/tmp" if len(tempfile.gettempdir()) > _LONGEST and os.access("/tmp", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="fw", dir=short)
    os.environ.update(RAY_TMPDIR=folder, RAY_USAGE_STATS_ENABLED="0")
    try:
        _serve(wanted["cpus"], wanted["memory"])
    finally:
        _end_descendants()
        shutil.rmtree(folder, ignore_errors=True)


def _serve(cpus: list[int], memory: int) -> None:
    """Starts one node for each number of cores, says where the head is, and waits for the parent's end."""
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    # Ray takes 127.0.0.1 for the host's own address, and two nodes cannot share one.
    for number, cores in enumerate(cpus):
        told = {"num_cpus": cores, "object_store_memory": memory, "include_dashboard": False}
        cluster.add_node(node_ip_address=f"127.0.0.{number + 2}", **told)
    print(cluster.address, flush=True)
    while os.read(0, 4096):
        pass
    # Ended by the caller: they have nothing to put in order, and would take seconds for it.


def _end_descendants() -> None:
    """Kills all that was started from here, children of children too."""
    for _ in range(50):
        below = _descendants()
        for each in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not below:
            return
        time.sleep(0.05)


def _descendants() -> list[int]:
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            state, parent = (folder / "stat").read_text().rpartition(") ")[2].split()[:2]
            if state != "Z":
                parents[int(folder.name)] = int(parent)
    found: set[int] = {os.getpid()}
    while more := {each for each, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {os.getpid()})


if __name__ == "__main__":
    main()
