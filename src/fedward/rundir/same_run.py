"""The check that a directory holds the run that is asked for, and in a few words what differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue, shorten
from fedward.rundir.manifest import Manifest

_LONGEST = 60


def check_same_run(path: Path, stored: Manifest, wanted: Manifest) -> None:
    """Compares two manifests by what decides the result; raises if anything of it differs."""
    if changed := _difference(stored, wanted):
        raise InvalidValue(f"{path} holds another run: {changed}; choose another directory with --out")
    if others := [name for name, digest in wanted.code.items() if stored.code.get(name) != digest]:
        raise InvalidValue(
            f"{path} was begun with other code: the source of {', '.join(others)} has changed since; put it "
            "back, or choose another directory with --out"
        )


def _difference(stored: Manifest, wanted: Manifest) -> str:
    if (stored.variants is None) != (wanted.variants is None):
        kinds = ["a single run (fedward run)", "many replicas (fedward replicas)"]
        there, here = kinds if stored.variants is None else reversed(kinds)
        return f"{there} there, {here} here"
    variants, others = stored.variants or {}, wanted.variants or {}
    if variants.keys() != others.keys():
        return f"the variants {'; '.join(variants)} there, {'; '.join(others)} here"
    found = [
        *differences(stored.experiment, wanted.experiment, "experiment"),
        *differences(stored.data.to_json(), wanted.data.to_json(), "data"),
    ]
    return f"{', '.join(found)} differ" if found else ""


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
    return "a table" if isinstance(value, dict) else shorten(value, _LONGEST)
