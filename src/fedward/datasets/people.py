"""Texts by person in JSON lines: ``{"user": "ann", "text": ["first text", "second text"]}``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from fedward.base.validate import InvalidValue
from fedward.datasets.files import text_lines

WHAT = "a file of JSON lines"


def people(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Every user and its texts, one user a line, each once; other keys are not looked at.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "users.jsonl"
    ...     _ = path.write_text('{"user": "ann", "text": ["Hello."], "age": 24}\\n')
    ...     list(people(path))
    [('ann', ['Hello.'])]
    """
    seen: set[str] = set()
    for number, line in text_lines(path, WHAT):
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidValue(f"{path} must be {WHAT}, but line {number} is not JSON: {error}") from error
        user = content.get("user") if isinstance(content, dict) else None
        texts = content.get("text") if isinstance(content, dict) else None
        if not isinstance(user, str) or not user:
            raise InvalidValue(f"{path} must hold a string 'user' on each line, but line {number} does not")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InvalidValue(f"{path} must hold a list 'text' of strings, but line {number} does not")
        if user in seen:
            raise InvalidValue(f"{path} must hold every user once, but line {number} has {user!r} again")
        seen.add(user)
        yield user, texts
    if not seen:
        raise InvalidValue(f"{path} must hold at least one user, got an empty file")
