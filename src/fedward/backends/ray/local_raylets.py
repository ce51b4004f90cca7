"""Nodes of a Ray cluster on this machine, which end with this process however it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress

from fedward.backends.engines.threads import cores
from fedward.backends.ray import local_raylets_keeper
from fedward.base.validate import InvalidValue

PATIENCE = 20.0
"""Seconds that the nodes have to end by themselves."""

_LEAST_MEMORY, _MOST_MEMORY = 80 * 2**20, 2 * 2**30


class LocalRaylets:
    """So many nodes, which share the cores of this machine.

    Args:
      nodes: how many; each has one core at least.
    """

    def __init__(self, nodes: int) -> None:
        here = cores()
        cpus = [max(1, here // nodes + (number < here % nodes)) for number in range(nodes)]
        told = json.dumps({"cpus": cpus, "memory": _object_memory(nodes)})
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the keeper
        self._keeper = subprocess.Popen(
            [sys.executable, "-P", local_raylets_keeper.__file__, told],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            start_new_session=True,  # Ctrl-C is for us
        )
        try:
            assert self._keeper.stdout is not None
            self.address = self._keeper.stdout.readline().decode().strip()
            if not self.address:
                raise InvalidValue(f"{nodes} nodes could not be started on this machine: {self._last_line()}")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the nodes; may be called again."""
        assert self._keeper.stdin is not None
        with suppress(OSError):
            self._keeper.stdin.close()
        try:
            self._keeper.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._keeper.pid, 9)
            self._keeper.wait()
        if self._keeper.stdout is not None:
            self._keeper.stdout.close()
        self._words.close()

    def _last_line(self) -> str:
        self._keeper.wait(PATIENCE)
        self._words.seek(0)
        lines = self._words.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "Ray says nothing"


def _object_memory(nodes: int) -> int:
    """Bytes of the object store of each: a tenth of what is free, together."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError):
        shared = os.statvfs("/dev/shm")
        free = min(free, 5 * shared.f_bavail * shared.f_frsize)
    return int(min(_MOST_MEMORY, max(_LEAST_MEMORY, free / 10 / nodes)))
