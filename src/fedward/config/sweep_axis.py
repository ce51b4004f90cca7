"""One axis of a sweep: a key of the file and the values, or whole tables, that it takes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.config.compute_section import refuse_as_axis
from fedward.config.made_parts import short_name
from fedward.config.overrides import copy_tables, put, take_out
from fedward.presets import PRESETS

_TAGS = ("label", "preset", "name")
_LONGEST = 40


@dataclass(frozen=True, kw_only=True)
class SweepAxis:
    """A key, and what stands there in turn.

    A table is merged into the file's own: its keys replace those of the same name. With another preset, keys
    that this one does not know are left out. ``false`` among tables takes the table out. A key ``label`` in a
    table is its name in results.

    Args:
      key: dotted, numbers for places in lists.
      values: what stands there.
      labels: the same in words, all different.

    >>> SweepAxis.of("algorithm", [{"preset": "krum"}, {"preset": "krum", "label": "wide"}]).labels
    ('krum', 'wide')
    """

    key: str
    values: tuple[Any, ...]
    labels: tuple[str, ...]

    @classmethod
    def of(cls, key: str, values: Any) -> SweepAxis:
        """Checks what the file has."""
        if not isinstance(values, list) or not values:
            raise InvalidValue(f"{key} must be a list of the values that it takes, got {values!r:.100}")
        if not all(key.split(".")):
            raise InvalidValue(f"{key!r} must be a key of the file, with dots")
        refuse_as_axis(key)
        bad = next((each for each in values if _label_of(each) is None), None)
        if bad is not None:
            raise InvalidValue(f"label of {key} must be text, got {bad['label']!r:.100}")
        labels = tuple(_labels(values))
        repeated = next((label for n, label in enumerate(labels) if label in labels[:n]), None)
        if repeated is not None:
            raise InvalidValue(f"values of {key} must differ, got {repeated} twice")
        return cls(key=key, values=tuple(values), labels=labels)

    @property
    def numeric(self) -> bool:
        """Whether it can be the x axis of a picture."""
        return len(self.values) > 1 and all(map(_is_number, self.values))

    @property
    def plain(self) -> tuple[Any, ...]:
        """Its values for a table of results; None for tables, lists and objects."""
        return tuple(value if _is_plain(value) else None for value in self.values)

    def put(self, content: Mapping[str, Any], place: int) -> dict[str, Any]:
        """The content of a file with the value of that place."""
        changed: dict[str, Any] = copy_tables(content)
        value = self.values[place]
        if isinstance(value, dict):
            value = {key: each for key, each in value.items() if key != "label"}
            put(changed, self.key, _merge(_value_at(changed, self.key), copy_tables(value)))
        elif value is False and any(isinstance(each, dict) for each in self.values):
            if _value_at(changed, self.key) is not None:
                take_out(changed, self.key)
        else:
            put(changed, self.key, copy_tables(value))
        return changed


def _merge(table: Any, value: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(table, dict):
        return value
    preset = value.get("preset")
    factory = preset if callable(preset) else PRESETS.get(preset) if isinstance(preset, str) else None
    if factory is not None and preset != table.get("preset"):
        known = inspect.signature(factory).parameters
        table = {key: each for key, each in table.items() if key in known}
    elif "name" in value and value["name"] != table.get("name"):
        table = {}  # another part: what the one before was told means nothing to it
    return {**table, **value}


def _value_at(content: Any, key: str) -> Any:
    """What stands at a key; None if nothing does."""
    for name in key.split("."):
        if isinstance(content, dict):
            content = content.get(name)
        elif isinstance(content, list) and name.isascii() and name.isdecimal() and int(name) < len(content):
            content = content[int(name)]
        else:
            return None
    return content


def _labels(values: list[Any]) -> list[str]:
    among_tables = any(isinstance(value, dict) for value in values)
    labels = ["none" if value is False and among_tables else str(_label_of(value)) for value in values]
    # Two tables of one preset differ in something else: they are numbered where nobody named them.
    return [
        label if labels.count(label) == 1 or _is_plain(value) else f"{label} {number + 1}"
        for number, (label, value) in enumerate(zip(labels, values, strict=True))
    ]


def _label_of(value: Any) -> str | None:
    if isinstance(value, dict):
        if not isinstance(value.get("label", ""), str):
            return None
        named = next((_label_of(value[tag]) for tag in _TAGS if _is_name(value.get(tag))), None)
        return named if named is not None else " ".join(_leaves(value))[:_LONGEST] or "table"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        names = [_label_of(each.get("name")) for each in value if isinstance(each, dict)]
        return "+".join(map(str, names)) if names else str(value).replace(" ", "")
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(short_name(value))


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) or callable(value)


def _leaves(table: dict[str, Any]) -> Iterator[str]:
    """What a table without a name says, in short.

    >>> list(_leaves({"who": {"name": "random", "count": 10}, "test_share": 0.5}))
    ['count=10', 'test_share=0.5']
    """
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value)
        elif key != "name":
            yield f"{key}={_label_of(value)}"


def _is_number(value: Any) -> bool:
    """Whether a float can hold it: TOML has whole numbers of any length."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and abs(value) <= sys.float_info.max
