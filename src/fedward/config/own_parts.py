"""The code of a user's own that an experiment uses: which parts are theirs, and digests of their source."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from fedward.config.code_digest import code_digest, is_own
from fedward.config.object_section import ObjectSection
from fedward.config.own_code import import_path
from fedward.config.sections import PartSection, Section


def own_code(section: Section) -> dict[str, str]:
    """A digest of each own class and function that a table names, by import path."""
    return {import_path(thing): code_digest(thing) for thing in dict.fromkeys(_own_things(section))}


def trust_in_own_parts(*sections: Section | None) -> str:
    """What somebody who reads the ε of an algorithm, or features, with own parts must know; empty without.

    What a part declares of itself (its sensitivity, its event, how it samples) is what ε is computed from.
    """
    names = list(dict.fromkeys(map(import_path, _own_things(sections))))
    declare = "declares of itself" if len(names) == 1 else "declare of themselves"
    return f"what {', '.join(names)} {declare} is taken as it is" if names else ""


def _own_things(value: object) -> Iterator[Callable[..., Any]]:
    if isinstance(value, ObjectSection):
        yield from (kind for kind in _classes(value.value) if is_own(kind))
    elif isinstance(value, Section):
        if isinstance(value, PartSection) and is_own(type(value).factory):
            yield type(value).factory
        for _, each in value:
            yield from _own_things(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from _own_things(each)


def _classes(value: object) -> Iterator[type]:
    """The class of an object, and those of all that it is made of."""
    if isinstance(value, tuple | list):
        for each in value:
            yield from _classes(each)
    elif isinstance(value, nn.Module):
        yield from map(type, value.modules())
    elif dataclasses.is_dataclass(value):
        yield type(value)
        for field in dataclasses.fields(value):
            yield from _classes(getattr(value, field.name))
    elif value is not None and is_own(type(value)):
        yield type(value)
