"""The facts of all runs below a directory, in SQLite.

The run directories are the truth and the index is a cache: it is brought up to date before every question,
made again when it is damaged, and kept in memory where nothing can be written.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue, nearest
from fedward.rundir.catalogue.conditions import Condition
from fedward.rundir.catalogue.facts import Fact, RunFacts, read, stamp

NAME = ".fedward-runs.sqlite"
# Another number whenever what is stored changes: an index of an older fedward is made again.
_VERSION = 4
_TABLES = """
CREATE TABLE runs (path TEXT PRIMARY KEY, stamp TEXT, kind TEXT, state TEXT, note TEXT, rounds TEXT);
CREATE TABLE facts (path TEXT, key TEXT, kind TEXT, number REAL, word TEXT, PRIMARY KEY (path, key));
CREATE INDEX facts_by_key ON facts (key, number, word);
"""


class Index:
    """The runs below ``root``. Made by ``open_index``."""

    def __init__(self, root: Path, database: sqlite3.Connection) -> None:
        self.root = root
        self._database = database

    def refresh(self) -> None:
        """Reads what is new or changed, and forgets what is gone."""
        found = {str(path.relative_to(self.root)): path for path in run_directories(self.root)}
        known = dict(self._database.execute("SELECT path, stamp FROM runs"))
        with self._database:
            for name in known.keys() - found.keys():
                self._forget(name)
            for name, path in found.items():
                now = stamp(path)
                if known.get(name) != now:
                    self._store(name, now, read(path))

    def _forget(self, name: str) -> None:
        for table in ("runs", "facts"):
            self._database.execute(f"DELETE FROM {table} WHERE path = ?", (name,))

    def _store(self, name: str, now: str, run: RunFacts) -> None:
        self._forget(name)
        row = (name, now, run.kind, run.state, run.note, json.dumps(run.rounds))
        self._database.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", row)
        rows = [(name, key, *_columns(value)) for key, value in run.known.items()]
        self._database.executemany("INSERT INTO facts VALUES (?, ?, ?, ?, ?)", rows)

    def keys(self) -> list[str]:
        """Every key that some run has."""
        return [key for (key,) in self._database.execute("SELECT DISTINCT key FROM facts ORDER BY key")]

    def require(self, keys: Sequence[str]) -> None:
        """Raises if there is one that no run has."""
        known = self.keys()
        for key in keys:
            if known and key not in known:
                raise InvalidValue(f"no run here has the key {key!r}{nearest(key, known)}")

    def find(
        self, conditions: Sequence[Condition] = (), *, sort: str | None = None, descending: bool = False
    ) -> list[RunFacts]:
        """The runs that meet all conditions; by path, or by a key, with those that lack it last."""
        self.require([*(each.key for each in conditions), *([sort] if sort else [])])
        where = [each.sql() for each in conditions]
        query = "SELECT path, kind, state, note, rounds FROM runs" + "".join(
            f" {'AND' if place else 'WHERE'} {text}" for place, (text, _) in enumerate(where)
        )
        rows = self._database.execute(
            query + " ORDER BY path", [value for _, values in where for value in values]
        )
        found = [self._run(*row) for row in rows.fetchall()]
        if sort is not None:
            found = _sort(found, sort, descending)
        return found

    def _run(self, name: str, kind: str, state: Any, note: str, rounds: str) -> RunFacts:
        stored = self._database.execute(
            "SELECT key, kind, number, word FROM facts WHERE path = ? ORDER BY rowid", (name,)
        )
        facts = {key: _value(*value) for key, *value in stored if key not in ("kind", "state")}
        return RunFacts(
            path=self.root / name,
            kind=kind,
            state=state,
            note=note,
            facts=facts,
            rounds=tuple(json.loads(rounds)),
        )


def _columns(value: Fact) -> tuple[str, float | None, str | None]:
    if isinstance(value, str):
        return "word", None, value
    return type(value).__name__, float(value), None


def _value(kind: str, number: float | None, word: str | None) -> Fact:
    if word is not None or number is None:
        return word or ""
    if kind == "bool":
        return bool(number)
    return int(number) if kind == "int" else number


def _sort(runs: list[RunFacts], key: str, descending: bool) -> list[RunFacts]:
    having = [run for run in runs if key in run.known]
    words = any(isinstance(run.known[key], str) for run in having)
    having.sort(key=lambda run: str(run.known[key]) if words else float(run.known[key]), reverse=descending)
    return having + [run for run in runs if key not in run.known]


def run_directories(root: Path) -> Iterator[Path]:
    """Every directory below, or this one, that holds a run."""
    for path, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        if "run.json" in files:
            yield Path(path)


@contextmanager
def open_index(root: Path) -> Iterator[Index]:
    """The up-to-date index of the runs below a directory."""
    if not root.is_dir():
        raise InvalidValue(f"{root} is no directory: it should hold runs")
    database = _open_on_disk(root) or _open_in_memory(root)
    try:
        yield Index(root, database)
    finally:
        database.close()


def _open_on_disk(root: Path) -> sqlite3.Connection | None:
    """The index on disk, made if it is not there or damaged; None where it cannot be used or written."""
    file = root / NAME
    for _ in range(2):
        try:
            with _close_on_error(sqlite3.connect(file, timeout=30)) as database:
                _create_tables(database)
                Index(root, database).refresh()
                return database
        except sqlite3.OperationalError:  # a disk that is full, or that cannot be written
            return None
        except sqlite3.DatabaseError:  # damaged, or no database at all
            try:
                file.unlink(missing_ok=True)
            except OSError:
                return None
    return None


def _open_in_memory(root: Path) -> sqlite3.Connection:
    with _close_on_error(sqlite3.connect(":memory:")) as database:
        _create_tables(database)
        Index(root, database).refresh()
        return database


@contextmanager
def _close_on_error(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield database
    except BaseException:
        database.close()
        raise


def _create_tables(database: sqlite3.Connection) -> None:
    """Makes the tables, if they are not there; raises ``sqlite3.DatabaseError`` if the file is damaged."""
    # Short as the file is: what a damaged page holds is found now, not in the middle of an answer.
    (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(found)
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != _VERSION:
        with database:
            for table in ("runs", "facts"):
                database.execute(f"DROP TABLE IF EXISTS {table}")
            for statement in _TABLES.strip().split(";\n"):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {_VERSION}")
