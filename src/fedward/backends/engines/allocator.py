"""Memory that a process has freed, kept by it: a training asks for the same sizes again and again."""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # names of glibc's malloc.h
_LARGEST = 64 * 2**20
_KEPT = 256 * 2**20


def keep_freed_memory() -> None:
    """Tells glibc to keep up to 256 MB of freed memory instead of giving it back after every operation.

    Activations of some megabytes are given back to the system when they are freed, and every page of the
    next ones has to be fetched again: that is 10 to 30 % of a convolutional network's time. Blocks above
    64 MB are still given back at once. Where there is another allocator nothing happens. It is called for
    the whole process, and calling it twice does no harm.

    >>> keep_freed_memory()
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return  # macOS, musl, Windows
    mallopt(_MMAP_THRESHOLD, _LARGEST)
    mallopt(_TRIM_THRESHOLD, _KEPT)
