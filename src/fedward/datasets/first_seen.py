"""The SHA-256 of downloaded files as they first were, in a file beside them, and the comparison with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from fedward.base.durable_files import write_atomically
from fedward.base.limited_files import read_text
from fedward.base.strict_json import parse
from fedward.base.validate import InvalidValue

NAME = ".fedward-sha256.json"


def remember(files: Iterable[Path]) -> None:
    """Writes down what files of one folder are, once: what is known of one already stays."""
    new = {file: sha256_of(file) for file in files}
    for record in {file.parent / NAME for file in new}:
        own = {file.name: digest for file, digest in new.items() if file.parent == record.parent}
        known = own | _read(record)
        write_atomically(record, (json.dumps(known, indent=1, sort_keys=True) + "\n").encode())


def require_as_remembered(files: Iterable[Path]) -> None:
    """Raises if a file is not what it was when it was downloaded; files of one's own are never compared."""
    for file in files:
        record = file.parent / NAME
        wanted = _read(record).get(file.name)
        if wanted is not None and sha256_of(file) != wanted:
            raise InvalidValue(
                f"{file} must have the SHA-256 {wanted} that it was downloaded with ({record} has it), got "
                "another file: remove it and it is downloaded again, or remove its line there if it is yours"
            )


def sha256_of(file: Path) -> str:
    """The digest of what a file holds."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _read(record: Path) -> dict[str, str]:
    if not record.is_file():
        return {}
    try:
        content = parse(read_text(record), str(record))
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{record} must be JSON text: {error}") from error
    if not isinstance(content, dict) or not all(isinstance(each, str) for each in content.values()):
        raise InvalidValue(f"{record} must hold the SHA-256 of each file, got something else: remove it")
    return content
