"""A record as a file whose ending says what is written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fedward.base.durable_files import write_atomically
from fedward.base.json_lines import replace_non_finite
from fedward.base.validate import InvalidValue


def write_record(path: str | os.PathLike[str], forms: Mapping[str, Callable[[], str]]) -> None:
    """Writes the text of that form which the file's ending names; whole or not at all."""
    file = Path(path)
    if file.suffix not in forms:
        raise InvalidValue(
            f"a record must be saved to a file that ends in {', '.join(forms)} (pictures: "
            f".plot().save(path)), got {file.name!r}"
        )
    if not file.parent.is_dir():
        raise InvalidValue(f"a record must be saved in a directory that exists, got {str(file)!r}")
    write_atomically(file, forms[file.suffix]().encode(errors="backslashreplace"))


def json_text(content: dict[str, Any]) -> str:
    """The text of a JSON file; what is not finite is null."""
    return json.dumps(replace_non_finite(content), indent=1, ensure_ascii=False) + "\n"
