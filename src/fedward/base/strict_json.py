"""JSON files that are taken at their word: every key once, finite numbers, no key missing or unknown."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NoReturn

from fedward.base.validate import InvalidType, InvalidValue

_MOST_VALUES = 10**7
_MOST_CONTAINERS = 10**6


def require_modest(text: str, what: str) -> None:
    """Refuses a text of so many values that they would take many times the memory of the text."""
    for found, most, of in (
        (text.count(","), _MOST_VALUES, "values"),
        (text.count("[") + text.count("{"), _MOST_CONTAINERS, "lists and objects"),
    ):
        if found > most:
            raise InvalidValue(f"{what} must hold at most {most:,} {of}, got more")


def parse(text: str, what: str) -> Any:
    """The content of a JSON text; refuses NaN, infinity and repeated keys.

    >>> parse('{"k": NaN}', "certificate file")
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: certificate file must hold finite numbers, got NaN
    """

    def refuse_constant(name: str) -> NoReturn:
        raise InvalidValue(f"{what} must hold finite numbers, got {name}")

    def refuse_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) < len(pairs):
            raise InvalidValue(f"{what} must hold every key once, got one twice")
        return content

    require_modest(text, what)
    try:
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=refuse_repetition)
    except InvalidValue:
        raise
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidValue(f"{what} must be JSON text: {error}") from error


def require_keys(content: Any, names: tuple[str, ...], what: str) -> None:
    """Refuses anything but an object with exactly these keys."""
    if not isinstance(content, dict):
        raise InvalidType(f"{what} must be an object, got {content!r}")
    for name in names:
        if name not in content:
            raise InvalidValue(f"{what} must have the key {name!r}")
    for name in content:
        if name not in names:
            raise InvalidValue(f"{what} must have no other keys than {', '.join(names)}, got {name!r}")


def digest(content: dict[str, Any]) -> str:
    """Finds damage and careless edits. It is no signature: whoever forges a file can forge it too."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
