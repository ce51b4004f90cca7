"""The facts of all runs below a directory, and a file that keeps them for the next question.

The run directories are the truth and the file is a cache: it is brought up to date before every question,
made again when it is damaged, and done without where nothing can be written.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fedward.base.durable_files import CannotWrite, write_atomically
from fedward.base.validate import InvalidValue, nearest
from fedward.rundir.catalogue.conditions import Condition
from fedward.rundir.catalogue.facts import RunFacts, read, stamp

NAME = ".fedward-runs.json.gz"
# Another number whenever what is stored changes: what an older fedward stored is read again.
_VERSION = 5


def find_runs(
    runs: Sequence[RunFacts],
    conditions: Sequence[Condition] = (),
    *,
    sort: str | None = None,
    descending: bool = False,
    show: Sequence[str] = (),
) -> list[RunFacts]:
    """The runs that meet all conditions; by path, or by a key, with those that lack it last.

    Raises if there is a key, of those to be shown too, that no run has.
    """
    known = sorted({key for run in runs for key in run.known})
    for key in (*show, *(each.key for each in conditions), *([sort] if sort else [])):
        if known and key not in known:
            raise InvalidValue(f"no run here has the key {key!r}{nearest(key, known)}")
    found = [run for run in runs if all(each.is_met(run.known) for each in conditions)]
    if sort is None:
        return found
    having = [run for run in found if sort in run.known]
    words = any(isinstance(run.known[sort], str) for run in having)
    having.sort(key=lambda run: str(run.known[sort]) if words else float(run.known[sort]), reverse=descending)
    return having + [run for run in found if sort not in run.known]


def run_directories(root: Path) -> Iterator[Path]:
    """Every directory below, or this one, that holds a run."""
    for path, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        if "run.json" in files:
            yield Path(path)


def all_runs(root: Path) -> list[RunFacts]:
    """The facts of all runs below a directory, by path: only what is new or changed is read."""
    if not root.is_dir():
        raise InvalidValue(f"{root} is no directory: it should hold runs")
    before = _read_cache(root / NAME)
    now: dict[str, dict[str, Any]] = {}
    for path in run_directories(root):
        name, mark = str(path.relative_to(root)), f"{_VERSION} {stamp(path)}"
        now[name] = before.get(name, {})
        if now[name].get("stamp") != mark:
            now[name] = {"stamp": mark, **vars(read(path))}
            del now[name]["path"]  # which is the key that it is stored with
    if now != before:
        with suppress(CannotWrite):
            write_atomically(root / NAME, gzip.compress(json.dumps(now).encode(), compresslevel=1))
    return [_run(root / name, **now[name]) for name in sorted(now)]


def _run(path: Path, *, stamp: str, rounds: Sequence[dict[str, Any]], **others: Any) -> RunFacts:
    return RunFacts(path=path, rounds=tuple(rounds), **others)


def _read_cache(file: Path) -> dict[str, dict[str, Any]]:
    """What was stored of each run; nothing if there is no such file, or the checksum in it finds damage."""
    try:
        content: dict[str, dict[str, Any]] = json.loads(gzip.decompress(file.read_bytes()))
        return content
    except (OSError, EOFError, zlib.error, ValueError):
        return {}
