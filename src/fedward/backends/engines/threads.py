"""The cores of this machine, and one thread for torch."""

from __future__ import annotations

import os

from fedward.base.one_thread import single_threaded

__all__ = ["cores", "single_threaded"]


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
