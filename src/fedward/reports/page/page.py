"""The page: everything that it shows, put into its template."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from fedward.base.durable_files import explain_write_errors, write_atomically
from fedward.base.validate import InvalidValue, whole
from fedward.reports.page.page_content import content_of
from fedward.reports.templates import fill, read
from fedward.rundir.arena_record import ArenaRecord, is_arena
from fedward.rundir.run_record import Record, load
from fedward.rundir.sweep_record import is_sweep, read_sweep_record
from fedward.studies.arena.arena_results import read_arena_record
from fedward.studies.stored_data import Library
from fedward.version import __version__

_SCRIPTS = ("tables.js", "charts.js", "explorer.js", "folds.js")
# Nothing may be asked for, and nothing may run but the page's own script and style.
_POLICY = (
    "default-src 'none'; img-src data:; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
    "base-uri 'none'; form-action 'none'"
)


def write(
    runs: Sequence[str | os.PathLike[str]], out: Path, data_dir: Path | None = None, devices: int = 1
) -> None:
    """Writes the report of run directories, in this order, to a file that is replaced if it is there.

    ``data_dir`` is where data sets lie, for pictures of examples; ``devices`` is how many users one person
    may be. What is wrong with a run is said first.
    """
    whole("devices per person", devices)
    write_page(out, render(load_all(runs), data_dir, devices))


def write_page(out: Path, content: str) -> None:
    """Writes a page to a file that is replaced if it is there, whole or not at all."""
    if out.is_dir():
        raise InvalidValue(f"{out} must be a file to write the report to, got a directory")
    with explain_write_errors(f"report {out}"):
        out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, content.encode(errors="backslashreplace"))


def load_all(runs: Sequence[str | os.PathLike[str]]) -> list[Record | ArenaRecord]:
    """Reads the run directories, each of which must be another, or an arena."""
    if arenas := [run for run in runs if is_arena(Path(run))]:
        if len(runs) > 1:
            raise InvalidValue(f"an arena has a page of its own, got {os.fspath(arenas[0])} and others")
        return [read_arena_record(Path(arenas[0]))]
    return list(load_runs(runs))


def load_runs(runs: Sequence[str | os.PathLike[str]]) -> list[Record]:
    """Reads the run directories, each of which must be another; a sweep or arena stands for all its runs."""
    if not runs:
        raise InvalidValue("a report needs at least one run directory, got none")
    runs = [each for run in runs for each in (_runs_within(Path(run)) or [run])]
    seen: dict[str, str] = {}
    for run in runs:
        place = os.path.realpath(run)  # which says nothing of links that lead in a circle
        if place in seen:
            raise InvalidValue(f"each run may be given once, got {seen[place]} and {os.fspath(run)}")
        seen[place] = os.fspath(run)
    return [load(run) for run in runs]


def _runs_within(path: Path) -> tuple[Path, ...]:
    if is_arena(path):
        return read_arena_record(path).runs
    return read_sweep_record(path).runs if is_sweep(path) else ()


def render(records: Sequence[Record | ArenaRecord], data_dir: Path | None = None, devices: int = 1) -> str:
    """The page as text."""
    style, script = read("page/look/page.css"), "\n".join(read(f"page/look/{name}") for name in _SCRIPTS)
    named = names(records)
    page = fill(
        "page/page.html",
        version=__version__,
        style=style,
        script=script,
        policy=_POLICY.format(style=_digest(style), script=_digest(script)),
        names=named,
        content=content_of(dict(zip(named, records, strict=True)), Library(data_dir), devices),
    )
    return str(page)


def names(records: Sequence[Record | ArenaRecord]) -> list[str]:
    """The last name of each run directory, and those before it where they are needed to tell them apart."""
    places = [record.path.resolve().parts for record in records]
    longest = max(map(len, places))
    for length in range(1, longest + 1):
        found = ["/".join(parts[-length:]) for parts in places]
        if len(set(found)) == len(found):
            return found
    raise AssertionError("the same directory twice")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
