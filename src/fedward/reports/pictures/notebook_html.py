"""A record as a notebook shows it."""

from __future__ import annotations

import base64
from html import escape

from fedward.base.validate import InvalidValue
from fedward.reports.pictures.record_picture import picture_of
from fedward.reports.record_line import record_line
from fedward.rundir.arena_record import ArenaRecord
from fedward.rundir.run_record import Record, ReplicasRecord
from fedward.rundir.sweep_record import SweepRecord


def html_of(record: Record | SweepRecord | ArenaRecord) -> str:
    """Where it is, what was found, what is guaranteed, and its picture."""
    lines = [f"<b>{escape(str(record.path))}</b>: {escape(record_line(record))}"]
    if not isinstance(record, ReplicasRecord | SweepRecord | ArenaRecord):
        guarantee = record.guarantee()
        lines += [] if guarantee is None else [escape(str(guarantee))]
    try:
        png = base64.b64encode(picture_of(record).png(dpi=80)).decode()
        lines.append(f'<img alt="curves of {escape(record.path.name)}" src="data:image/png;base64,{png}">')
    except InvalidValue as error:
        lines.append(escape(str(error)))
    return "<div>" + "<br>".join(lines) + "</div>"
