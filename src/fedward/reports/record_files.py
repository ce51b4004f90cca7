"""A record as a file: its values as JSON, its table as CSV, or its report as a page."""

from __future__ import annotations

import os
from typing import Any

from fedward.base.saved_file import json_text, write_record
from fedward.base.table_rows import csv_text
from fedward.privacy import Guarantee
from fedward.reports.page.page import load_all, render
from fedward.rundir.arena_record import ArenaRecord, ArenaTable
from fedward.rundir.results import Result, TrainingResult
from fedward.rundir.run_record import Record, ReplicasRecord
from fedward.rundir.sweep_record import SweepRecord

AnyRecord = Record | SweepRecord | ArenaRecord


def save_record(record: AnyRecord, path: str | os.PathLike[str]) -> None:
    """Writes a record as .json, .csv or .html."""
    forms = {
        ".json": lambda: json_text(record_as_json(record)),
        ".csv": lambda: csv_text(record.table_rows()),
        ".html": lambda: _page(record),
    }
    write_record(path, forms)


def record_as_json(record: AnyRecord) -> dict[str, Any]:
    """The values of a record as plain ones, with all digits; rounds are counted from 1."""
    if isinstance(record, ArenaRecord):
        table = ArenaTable(about=record.about, cells=list(record.cells), standings=list(record.standings))
        return {"kind": "arena", "path": str(record.path), **table.to_json()}
    if isinstance(record, SweepRecord):
        return {"kind": "sweep", "path": str(record.path), "combinations": list(record.combinations)}
    content: dict[str, Any] = {
        "kind": _kind(record),
        "path": str(record.path),
        "finished": record.finished,
        "manifest": record.manifest.to_json(),
        "result": None if record.result is None else result_as_json(record.result),
        "table": record.table_rows(),
    }
    if isinstance(record, ReplicasRecord):
        alone = {name: _promise(record.one_training(name)) for name in record.experiments}
        together = {name: _promise(each.releasing_all) for name, each in record.certificates.items()}
        return content | {
            "replicas": record.replicas,
            "guarantees": {"one_training": alone, "releasing_all": together},
            "measured": record.table_rows("measured"),
        }
    guarantee = record.guarantee()
    return content | {"guarantee": None if guarantee is None else _promise(guarantee)}


def result_as_json(result: Result) -> dict[str, Any]:
    """A result as plain values, with rounds counted from 1; files of run directories count from 0."""
    content = result.to_json()
    if isinstance(result, TrainingResult) and result.kept_rounds:
        content["kept_rounds"] = [each.to_json() | {"round": each.round + 1} for each in result.kept_rounds]
    return content


def _kind(record: Record) -> str:
    if isinstance(record, ReplicasRecord):
        return "certificate" if record.certificates else "replicas"
    if record.manifest.audit is not None:
        return "audit"
    return "run" if record.manifest.inference is None else "inference"


def _promise(guarantee: Guarantee) -> dict[str, Any]:
    return guarantee.to_json() | {"statement": str(guarantee)}


def _page(record: AnyRecord) -> str:
    return render(load_all([record.path]) if isinstance(record, SweepRecord) else [record])
