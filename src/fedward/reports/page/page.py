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
from fedward.base.validate import InvalidValue
from fedward.reports.page.comparison import compare_runs
from fedward.reports.page.example_looks import Library
from fedward.reports.page.inference_part import inference_part
from fedward.reports.page.replicas_part import replicas_part
from fedward.reports.page.run_part import run_part
from fedward.reports.templates import fill, read
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord, load
from fedward.rundir.sweep_record import is_sweep, read_sweep_record
from fedward.version import __version__

# Nothing may be asked for, and nothing may run but the page's own script and style.
_POLICY = (
    "default-src 'none'; img-src data:; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
    "base-uri 'none'; form-action 'none'"
)


def write(runs: Sequence[str | os.PathLike[str]], out: Path, data_dir: Path | None = None) -> None:
    """Writes the report of run directories, in this order, to a file that is replaced if it is there.

    ``data_dir`` is where data sets lie, for pictures of examples. What is wrong with a run is said first.
    """
    write_page(out, render(load_all(runs), data_dir))


def write_page(out: Path, content: str) -> None:
    """Writes a page to a file that is replaced if it is there, whole or not at all."""
    if out.is_dir():
        raise InvalidValue(f"{out} must be a file to write the report to, got a directory")
    with explain_write_errors(f"report {out}"):
        out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, content.encode())


def load_all(runs: Sequence[str | os.PathLike[str]]) -> list[Record]:
    """Reads the run directories, each of which must be another."""
    if not runs:
        raise InvalidValue("a report needs at least one run directory, got none")
    # A sweep stands for all of its runs.
    runs = [each for run in runs for each in (_of_sweep(Path(run)) or [run])]
    seen: dict[Path, str] = {}
    for run in runs:
        place = Path(run).resolve()
        if place in seen:
            raise InvalidValue(f"each run may be given once, got {seen[place]} and {os.fspath(run)}")
        seen[place] = os.fspath(run)
    return [load(run) for run in runs]


def _of_sweep(path: Path) -> tuple[Path, ...]:
    return read_sweep_record(path).runs if is_sweep(path) else ()


def render(records: Sequence[Record], data_dir: Path | None = None) -> str:
    """The page as text."""
    library = Library(data_dir)
    named = dict(zip(names(records), records, strict=True))
    parts = [
        _part(record, f"run-{number}", name, library)
        for number, (name, record) in enumerate(named.items(), 1)
    ]
    several = len(records) > 1 or any(
        isinstance(record, ReplicasRecord) and len(record.experiments) > 1 for record in records
    )
    style, script = read("page/page.css"), read("page/page.js")
    page = fill(
        "page/page.html",
        version=__version__,
        style=style,
        script=script,
        policy=_POLICY.format(style=_digest(style), script=_digest(script)),
        names=list(named),
        parts=parts,
        compared=compare_runs(named) if several else None,
    )
    return str(page)


def _part(record: Record, key: str, name: str, library: Library) -> Markup:
    try:
        if isinstance(record, RunRecord):
            return run_part(record, key, name, library)
        if isinstance(record, InferenceRecord):
            return inference_part(record, key, name)
        return replicas_part(record, key, name, library)
    except InvalidValue:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, UndefinedError) as error:
        # The files are JSON, but not what fedward writes.
        raise InvalidValue(
            f"{record.path} holds a file that is damaged or was changed: {type(error).__name__}: {error}"
        ) from error


def names(records: Sequence[Record]) -> list[str]:
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
