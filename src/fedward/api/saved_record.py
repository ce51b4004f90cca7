"""The base of records that answer a question: saved with all digits, and as a table of pandas."""

from __future__ import annotations

import os
from typing import Any, Protocol

from fedward.base.saved_file import json_text, write_record
from fedward.base.table_rows import csv_text, frame


class HasJson(Protocol):
    """A record that knows its own plain values."""

    def to_json(self) -> dict[str, Any]: ...

    def rows(self) -> list[dict[str, Any]]: ...


class SavedRecord:
    """``.save`` and ``.to_pandas`` of a record."""

    def save(self: HasJson, path: str | os.PathLike[str]) -> None:
        """Writes .json with all digits, or its table as .csv; whole or not at all."""
        write_record(
            path, {".json": lambda: json_text(self.to_json()), ".csv": lambda: csv_text(self.rows())}
        )

    def to_pandas(self: HasJson) -> Any:
        """A table of pandas, which need not be installed for anything else."""
        return frame(self.rows())
