"""The facts of all runs below a directory, and a cache that keeps them for the next question.

The run directories are the truth. The cache lies with this user, not with the runs, which may be anybody's:
it is brought up to date before every question, made again unless this user wrote it about this directory
(``base/own_cache.py``), and done without where nothing can be written.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fedward.base.own_cache import read_cache, write_cache
from fedward.base.validate import InvalidValue, nearest
from fedward.rundir.catalogue.conditions import Condition
from fedward.rundir.catalogue.facts import RunFacts, damaged, read, stamp
from fedward.rundir.digest_log import NAME as DIGESTS
from fedward.rundir.place import SWEPT

# Another number whenever what is stored changes: what an older fedward stored is read again.
_VERSION = 8


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


def run_directories(root: Path, unreadable: Callable[[OSError], None] | None = None) -> Iterator[Path]:
    """Every directory below, or this one, that holds a run; links are not followed.

    ``unreadable`` is told of each directory that cannot be looked into.
    """
    for path, names, files in os.walk(root, onerror=unreadable):
        # What is called so and is a directory is damage, which is said when it is read; so is a run without.
        lost = DIGESTS in files and not {SWEPT, "sweep.json"} & {*files}
        if "run.json" in files or "run.json" in names or lost:
            yield Path(path)
        names[:] = sorted(name for name in names if not name.startswith(".") and name != "run.json")


def all_runs(root: Path) -> list[RunFacts]:
    """The facts of all runs below a directory, by path: only what is new or changed is read."""
    if not root.is_dir():
        raise InvalidValue(f"{root} is no directory: it should hold runs")
    about = _identity(root)
    before = _read_cache(about)
    now: dict[str, dict[str, Any]] = {}
    unreadable: list[RunFacts] = []
    for path in run_directories(root, lambda error: unreadable.append(damaged(Path(error.filename), error))):
        try:
            mark = f"{_VERSION} {stamp(path)}"
        except OSError as error:
            unreadable.append(damaged(path, error))
            continue
        name = str(path.relative_to(root))
        now[name] = before.get(name, {})
        if now[name].get("stamp") != mark:
            now[name] = {"stamp": mark, **vars(read(path))}
            del now[name]["path"]  # which is the key that it is stored with
    if now != before:
        write_cache(about, gzip.compress(json.dumps(now).encode(), compresslevel=1))
    found = [*unreadable, *(_run(root / name, **each) for name, each in now.items())]
    return sorted(found, key=lambda run: str(run.path))


def _identity(root: Path) -> bytes:
    """The directory: its path, and which one has this path today."""
    found = root.stat()
    return b"%s\0%d\0%d" % (os.fsencode(os.path.realpath(root)), found.st_dev, found.st_ino)


def _run(path: Path, *, stamp: str, **known: Any) -> RunFacts:
    return RunFacts(path=path, **known)


def _read_cache(about: bytes) -> dict[str, dict[str, Any]]:
    """What was stored of each run; nothing if there is nothing to be believed."""
    stored = read_cache(about)
    if stored is None:
        return {}
    try:
        content: dict[str, dict[str, Any]] = json.loads(gzip.decompress(stored))
    except (OSError, EOFError, zlib.error, ValueError):
        return {}
    return content
