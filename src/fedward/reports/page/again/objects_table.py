"""The Python objects of a run as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedward.config.made_objects import objects_of
from fedward.reports.page.charts.tables import Cell, Column, Table


def objects_table(content: Mapping[str, Any]) -> Table | None:
    """The objects of an experiment; None where it has none."""
    rows = [[Cell(each.key), Cell(each.made_of), Cell(_fields(each.fields))] for each in objects_of(content)]
    columns = [Column("in the place of"), Column("class"), Column("made with")]
    return (
        Table(caption="The objects that the run was made from", columns=columns, rows=rows) if rows else None
    )


def _fields(fields: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} = {' '.join(' '.join(map(str, value)).split()) if isinstance(value, list) else value}"
        for key, value in fields.items()
        if value not in ("", [])
    )
