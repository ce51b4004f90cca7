"""The engine and versions that computed a run, every change of them, and the machine that it was begun on."""

from __future__ import annotations

import itertools
import os
import platform
import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedward.rundir.manifest import ComputedBy, Manifest
from fedward.version import __version__


def versions() -> dict[str, str]:
    """Of all that decides the bits of a result."""
    return {
        "fedward": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "dp_accounting": version("dp-accounting"),
        "python": platform.python_version(),
    }


def environment() -> dict[str, Any]:
    """Time, machine and command, for ``run.json``; they do not decide its result."""
    name = Path(sys.argv[0]).name
    return {
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "command": f"{'python -m fedward' if name == '__main__.py' else name} {shlex.join(sys.argv[1:])}",
    }


def changes(stored: Manifest, now: ComputedBy) -> list[str]:
    """What is no longer as it was when the run was last computed, in words; none if all is.

    >>> begun = {"engine": "native engine, avx2", "versions": {"torch": "2.6.0", "numpy": "2.0"}}
    >>> now = ComputedBy(engine="native engine, avx512", versions={"torch": "2.7.0", "numpy": "2.0"})
    >>> changes(Manifest(experiment={}, **begun), now)
    ['native engine, avx2, now native engine, avx512', 'torch 2.6.0, now 2.7.0']
    """
    return list(_changes(_steps(stored)[-1], now))


def list_changes(stored: Manifest) -> list[str]:
    """Every change on the way of a run, in words and in order."""
    return ["; ".join(_changes(before, after)) for before, after in itertools.pairwise(_steps(stored))]


def _steps(stored: Manifest) -> list[ComputedBy]:
    return [ComputedBy(engine=stored.engine, versions=stored.versions), *stored.went_on]


def _changes(last: ComputedBy, now: ComputedBy) -> Iterator[str]:
    # Runs of earlier versions do not say their engine.
    if last.engine not in ("", now.engine):
        yield f"{last.engine}, now {now.engine}"
    for name, here in now.versions.items():
        if last.versions.get(name) not in (None, here):
            yield f"{name} {last.versions[name]}, now {here}"
