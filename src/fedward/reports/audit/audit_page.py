"""The document for an auditor: all that it says, put into its template."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from fedward.reports.audit.audit_files import file_digests
from fedward.reports.audit.audit_guarantees import (
    assumptions_of,
    certificates_of_record,
    guarantees_of_record,
    not_covered_by,
)
from fedward.reports.numbers import measures_in_words
from fedward.reports.page.again.reproduce import recipe_of
from fedward.reports.page.charts.tables import Cell, Column, Table
from fedward.reports.page.page import load_runs, names, write_page
from fedward.reports.templates import fill, read
from fedward.reports.terminal.run_table import details
from fedward.rundir.catalogue.facts import differing_keys, flat
from fedward.rundir.computed_by import list_changes
from fedward.rundir.damage import require_undamaged
from fedward.rundir.results import TrainingResult
from fedward.rundir.run_file_names import is_own, is_said_otherwise
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord
from fedward.version import __version__

# Nothing may be asked for, and nothing may run: the page has a style and no script.
_POLICY = "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"


def write_audit(runs: Sequence[str | os.PathLike[str]], out: Path) -> None:
    """Writes the document about run directories, in this order; a file that is there is replaced."""
    write_page(out, render_audit(load_runs(runs)))


def render_audit(records: Sequence[Record]) -> str:
    """The document as text."""
    style = read("audit/audit.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    named = list(zip(names(records), records, strict=True))
    return str(
        fill(
            "audit/audit.html",
            version=__version__,
            style=style,
            policy=_POLICY.format(style=digest),
            names=[name for name, _ in named],
            parts=[_part(record, name, f"run-{number}") for number, (name, record) in enumerate(named, 1)],
        )
    )


def _part(record: Record, name: str, key: str) -> Markup:
    found = guarantees_of_record(record)
    result = record.result
    return fill(
        "audit/audit_run.html",
        run=record,
        manifest=record.manifest,
        name=name,
        key=key,
        experiment=_experiments(record)[0],
        measured=measures_in_words(record.last) if isinstance(record, RunRecord) else (),
        guarantees=found,
        details=details(result) if isinstance(result, TrainingResult) else (),
        research=any(each.research for each in found),
        certificates=certificates_of_record(record),
        assumptions=assumptions_of(record, found),
        not_covered=not_covered_by(record, found),
        parameters=_parameters(record),
        digests=_digests(record),
        versions=_versions(record),
        changes=list_changes(record.manifest),
        recipe=recipe_of(record),
    )


def _experiments(record: Record) -> list[dict[str, Any]]:
    return list(record.experiments.values()) if isinstance(record, ReplicasRecord) else [record.experiment]


def _parameters(record: Record) -> list[Table]:
    """Every parameter that is set; of several variants first what they have in common."""
    experiments = _experiments(record)
    varying = differing_keys(experiments)
    common = {key: value for key, value in flat(experiments[0]) if key not in varying}
    tables = [_pairs("Every parameter that is set", common)]
    if varying and isinstance(record, ReplicasRecord):
        columns = [Column("variant"), *map(Column, varying)]
        rows = [
            [
                Cell(name),
                *(Cell("" if values[place] is None else str(values[place])) for values in varying.values()),
            ]
            for place, name in enumerate(record.experiments)
        ]
        tables.append(Table(caption="What the variants differ in", columns=columns, rows=rows))
    return tables


def _digests(record: Record) -> list[Table]:
    require_undamaged(
        record.path,
        has_digests=record.manifest.digests > 0,
        needed=is_own,
        may_be_missing=is_said_otherwise,
    )
    data = record.manifest.data
    inputs = {
        "data": data.digest,
        "initial model": data.initial_model,
        "target model of the attackers": data.target_model,
        **{f"own code, {name}": digest for name, digest in record.manifest.code.items()},
    }
    files = [
        [Cell(each.name), Cell(each.meaning), Cell(f"{each.size:,}", each.size), Cell(each.sha256)]
        for each in file_digests(record.path)
    ]
    columns = [Column("file"), Column("what it holds"), Column("bytes", number=True), Column("SHA-256")]
    known = {name: digest for name, digest in inputs.items() if digest is not None}
    return [
        _pairs("What went in, as the run has stored it", known),
        Table(caption="The files of the run, as they are now", columns=columns, rows=files),
    ]


def _versions(record: Record) -> Table:
    manifest = record.manifest
    about: dict[str, str] = {
        name: str(manifest.environment[name])
        for name in ("begun", "system", "cores")
        if name in manifest.environment
    }
    engine = {"engine": manifest.engine} if manifest.engine else {}
    return _pairs("What computed it", {**manifest.versions, **engine, **about})


def _pairs(caption: str, content: Mapping[str, Any]) -> Table:
    rows = [[Cell(key), Cell(str(value))] for key, value in content.items()]
    return Table(caption=caption, columns=[Column("name"), Column("value")], rows=rows)
