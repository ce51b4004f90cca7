"""Rows of plain values as a table of pandas, or as the text of a CSV file."""

from __future__ import annotations

import csv
import importlib
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fedward.base.validate import InvalidValue

Rows = Sequence[Mapping[str, Any]]


def frame(rows: Rows) -> Any:
    """The rows as a table of pandas, which is not needed for anything else."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise InvalidValue("to_pandas needs pandas, which is not installed: pip install pandas") from None
    return pandas.json_normalize(list(rows))


def csv_text(rows: Rows) -> str:
    """The same table as CSV, with all digits: a column for every key of any row, dotted within tables.

    >>> print(csv_text([{"round": 1, "attacks": {"flip": {"success": 0.5}}}, {"round": 2}]), end="")
    round,attacks.flip.success
    1,0.5
    2,
    """
    flat = [dict(_dotted(row)) for row in rows]
    columns = list(dict.fromkeys(key for row in flat for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _dotted(row: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
