"""The engine and versions that computed a run, and every change of them when it was resumed."""

from __future__ import annotations

import itertools
import platform
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from fedward.version import __version__

WENT_ON = "went_on"
"""The key of ``run.json`` under which every change of engine or versions is kept, in order."""


def versions() -> dict[str, str]:
    """Of all that decides the bits of a result."""
    return {
        "fedward": __version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "dp_accounting": version("dp-accounting"),
        "python": platform.python_version(),
    }


def changes(stored: Mapping[str, Any], engine: str, now: Mapping[str, str]) -> list[str]:
    """What is no longer as it was when the run was last computed, in words; none if all is.

    >>> stored = {"engine": "native engine, avx2", "versions": {"torch": "2.6.0", "numpy": "2.0"}}
    >>> changes(stored, "native engine, avx512", {"torch": "2.7.0", "numpy": "2.0"})
    ['native engine, avx2, now native engine, avx512', 'torch 2.6.0, now 2.7.0']
    """
    return list(_changes(_last(stored), engine, now))


def went_on(stored: Mapping[str, Any]) -> list[str]:
    """Every change on the way of a run, in words and in order."""
    steps = [stored, *_earlier(stored)]
    return [
        "; ".join(_changes(before, after["engine"], after["versions"]))
        for before, after in itertools.pairwise(steps)
    ]


def with_change(stored: dict[str, Any], engine: str, now: Mapping[str, str]) -> dict[str, Any]:
    """``run.json`` of a run that goes on with these."""
    entry = {"engine": engine, "versions": dict(now)}
    return stored | {WENT_ON: [*_earlier(stored), entry]}


def _changes(last: Mapping[str, Any], engine: str, now: Mapping[str, str]) -> Iterator[str]:
    # Runs of earlier versions do not say their engine.
    if last.get("engine") not in (None, engine):
        yield f"{last['engine']}, now {engine}"
    there = last.get("versions")
    for name, here in now.items():
        if isinstance(there, Mapping) and there.get(name) not in (None, here):
            yield f"{name} {there[name]}, now {here}"


def _last(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    return [stored, *_earlier(stored)][-1]


def _earlier(stored: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The changes so far; what is damaged is left out."""
    found = stored.get(WENT_ON)
    return [
        each
        for each in (found if isinstance(found, list) else [])
        if isinstance(each, dict) and isinstance(each.get("versions"), dict) and "engine" in each
    ]
