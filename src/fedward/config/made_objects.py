"""The Python objects of a run that a program made it from, as its files describe them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fedward.config.own_code import is_code

# What an object's description has besides its own fields.
_NAMES = ("object", "name", "preset")


@dataclass(frozen=True, kw_only=True)
class MadeObject:
    """One object.

    Args:
      key: where it stands in the experiment.
      made_of: its class, by import path.
      fields: its plain values; objects within it stand for themselves.
    """

    key: str
    made_of: str
    fields: dict[str, Any]


def is_object(content: object) -> bool:
    """Whether a stored table describes an object, not a part that a file could name.

    >>> is_object({"object": "my_parts:Sampler", "rate": 0.5}), is_object({"name": "poisson", "rate": 0.5})
    (True, False)
    """
    return isinstance(content, Mapping) and is_code(content.get("object"))


def objects_of(content: Mapping[str, Any], above: str = "") -> Iterator[MadeObject]:
    """Every object that a stored experiment describes, each before those that it holds."""
    for key, value in content.items():
        named = [(f"{above}{key}", value)]
        if isinstance(value, list):
            named = [(f"{above}{key}.{place}", each) for place, each in enumerate(value)]
        for place, each in named:
            if not isinstance(each, Mapping):
                continue
            if is_object(each):
                plain = {name: own for name, own in each.items() if name not in _NAMES and _is_plain(own)}
                yield MadeObject(key=place, made_of=str(each["object"]), fields=plain)
            yield from objects_of(each, f"{place}.")


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is not None and not isinstance(value, Mapping)
