"""The check that a directory holds the run that is asked for, and in a few words what differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.rundir.manifest import Manifest

_LONGEST = 60


def check_same_run(path: Path, stored: Manifest, wanted: Manifest) -> None:
    """Compares two manifests by what decides the result; raises if anything of it differs."""
    changed = _kind(stored, wanted) or _variants(stored, wanted)
    if not changed:
        found = [
            *differences(stored.experiment, wanted.experiment, "experiment"),
            *differences(stored.data.to_json(), wanted.data.to_json(), "data"),
        ]
        changed = f"{', '.join(found)} differ" if found else ""
    if changed:
        raise InvalidValue(f"{path} holds another run: {changed}; choose another directory with --out")


def _kind(stored: Manifest, wanted: Manifest) -> str:
    there, here = (
        "a single run (fedward run)" if manifest.variants is None else "many replicas (fedward replicas)"
        for manifest in (stored, wanted)
    )
    return "" if there == here else f"{there} there, {here} here"


def _variants(stored: Manifest, wanted: Manifest) -> str:
    there, here = list(stored.variants or ()), list(wanted.variants or ())
    if set(there) == set(here):
        return ""
    return f"the variants {'; '.join(there)} there, {'; '.join(here)} here"


def differences(stored: Any, wanted: Any, key: str) -> Iterator[str]:
    """What differs between two tables, with both values.

    A table that an older fedward did not know is absent there and null here: that is no difference.
    """
    if isinstance(stored, dict) and isinstance(wanted, dict):
        for name in sorted(stored.keys() | wanted.keys()):
            yield from differences(stored.get(name), wanted.get(name), f"{key}.{name}")
    elif stored != wanted:
        yield f"{key} ({_show_value(stored)} there, {_show_value(wanted)} here)"


def _show_value(value: Any) -> str:
    """
    >>> _show_value(0.5), _show_value({"name": "mlp"}), _show_value(None)
    ('0.5', 'a table', 'None')
    """
    if isinstance(value, dict):
        return "a table"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
