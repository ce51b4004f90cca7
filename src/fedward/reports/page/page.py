"""The page: everything that it shows, put into its template."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from jinja2 import UndefinedError
from markupsafe import Markup

from fedward.base.durable_files import explain_write_errors, write_atomically
from fedward.base.validate import InvalidValue, whole
from fedward.reports.page.findings.comparison import compare_runs
from fedward.reports.page.kinds.arena_part import arena_part
from fedward.reports.page.kinds.audited_part import audited_part
from fedward.reports.page.kinds.inference_part import inference_part
from fedward.reports.page.kinds.replicas_part import replicas_part
from fedward.reports.page.kinds.run_part import run_part
from fedward.reports.templates import fill, read
from fedward.rundir.arena_record import ArenaRecord, is_arena
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord, load
from fedward.rundir.sweep_record import is_sweep, read_sweep_record
from fedward.studies.arena.arena_results import read_arena_record
from fedward.studies.stored_data import Library
from fedward.version import __version__

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
    library = Library(data_dir)
    named = dict(zip(names(records), records, strict=True))
    parts = [
        _part(record, f"run-{number}", name, library, devices)
        for number, (name, record) in enumerate(named.items(), 1)
    ]
    plain = {name: each for name, each in named.items() if not isinstance(each, ArenaRecord)}
    several = len(plain) > 1 or any(
        isinstance(record, ReplicasRecord) and len(record.experiments) > 1 for record in plain.values()
    )
    style, script = read("page/look/page.css"), read("page/look/page.js")
    page = fill(
        "page/page.html",
        version=__version__,
        style=style,
        script=script,
        policy=_POLICY.format(style=_digest(style), script=_digest(script)),
        names=list(named),
        parts=parts,
        compared=compare_runs(plain) if several else None,
    )
    return str(page)


def _part(record: Record | ArenaRecord, key: str, name: str, library: Library, devices: int) -> Markup:
    try:
        if isinstance(record, RunRecord):
            return run_part(record, key, name, library, devices)
        if isinstance(record, ArenaRecord):
            return arena_part(record, key, name)
        if devices > 1:
            raise InvalidValue(
                f"several devices per person are shown for trainings (fedward run), got {record.path}; leave "
                "them out for other runs"
            )
        if isinstance(record, InferenceRecord):
            return inference_part(record, key, name)
        if isinstance(record, AuditRecord):
            return audited_part(record, key, name)
        return replicas_part(record, key, name, library)
    except InvalidValue:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, UndefinedError) as error:
        # The files are JSON, but not what fedward writes.
        raise InvalidValue(
            f"{record.path} holds a file that is damaged or was changed: {type(error).__name__}: {error}"
        ) from error


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
