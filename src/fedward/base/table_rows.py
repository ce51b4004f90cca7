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
    return csv_lines(columns, ([row.get(key, "") for key in columns] for row in flat))


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The text of a CSV file, in which no text is a formula for the spreadsheet that opens it.

    >>> print(csv_lines(["note", "loss"], [["=1+1", -0.5], ["plain", None]]), end="")
    note,loss
    '=1+1,-0.5
    plain,
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_plain_cell, columns))
    writer.writerows(map(_plain_cell, row) for row in rows)
    return text.getvalue()


# The wide forms are for spreadsheets in East Asian languages.
_OPENS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def _plain_cell(value: Any) -> Any:
    """The value; a text that begins like a formula and is no number gets an apostrophe before it."""
    if not isinstance(value, str):
        return value
    text = value.replace("\r", "\\r")  # which csv does not quote, and readers take for the end of a row
    if not value.startswith(_OPENS_A_FORMULA):
        return text
    try:
        float(value)
    except ValueError:
        return f"'{text}"
    return text


def _dotted(row: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
