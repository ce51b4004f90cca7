"""One experiment in several variants: the same file with other values for some keys."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.config.compute_section import refuse_as_axis
from fedward.config.made_parts import short_name
from fedward.config.overrides import BARE, copy_tables, put, value_of

# What decides data and initial model must be the same in all variants: they share it.
_SHARED = ("seed", "data", "model")


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A key of the experiment file, and the values that it takes. Numbers from 0 on are places in a list.

    >>> Axis.parse("algorithm.noise_multiplier=1, 2.5")
    Axis(key='algorithm.noise_multiplier', values=(1, 2.5))
    """

    key: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        refuse_as_axis(self.key)
        table = self.key.split(".")[0]
        if table in _SHARED:
            raise InvalidValue(
                f"variants share their data and their initial model, so {table} cannot vary, got {self.key}"
            )
        if not self.values:
            raise InvalidValue(f"values of {self.key} must be at least one, got none")
        repeated = [value for i, value in enumerate(self.values) if value in self.values[:i]]
        if repeated:
            raise InvalidValue(f"values of {self.key} must differ, got {repeated[0]!r} twice")

    @property
    def labels(self) -> tuple[str, ...]:
        """Its values in words; objects of one name are numbered."""
        labels = [str(short_name(value)) for value in self.values]
        return tuple(
            label if labels.count(label) == 1 else f"{label} {number}"
            for number, label in enumerate(labels, 1)
        )

    @classmethod
    def parse(cls, text: str) -> Axis:
        """Reads ``KEY=VALUE,VALUE,...``; the values are written as in the file."""
        key, equals, values = text.partition("=")
        if not equals or not key.strip():
            raise InvalidValue(f"what varies must be written KEY=VALUE,VALUE,..., got {text!r}")
        try:
            found = value_of(f"[{values}]")
        except InvalidValue as error:
            words = [word.strip() for word in values.split(",")]
            if not all(BARE.fullmatch(word) for word in words):
                raise InvalidValue(
                    f"what varies must be written KEY=VALUE,VALUE,... with values as in the file, "
                    f"got {text!r}: {error}"
                ) from error
            found = words
        return cls(key=key.strip(), values=tuple(found))


def variants(content: dict[str, Any], axes: Sequence[Axis]) -> dict[str, dict[str, Any]]:
    """The content of an experiment file for every combination of values, by a name that says which.

    >>> axes = [Axis.parse("algorithm.noise_multiplier=1,2")]
    >>> for name, content in variants({"algorithm": {"preset": "user_dp_fedavg"}}, axes).items():
    ...     print(name, content["algorithm"])
    noise_multiplier=1 {'preset': 'user_dp_fedavg', 'noise_multiplier': 1}
    noise_multiplier=2 {'preset': 'user_dp_fedavg', 'noise_multiplier': 2}
    """
    keys = [axis.key for axis in axes]
    if len(set(keys)) < len(keys):
        raise InvalidValue(f"each key may vary once, got {', '.join(keys)}")
    found = {}
    for places in itertools.product(*(range(len(axis.values)) for axis in axes)):
        values = [axis.values[place] for axis, place in zip(axes, places, strict=True)]
        labels = [axis.labels[place] for axis, place in zip(axes, places, strict=True)]
        changed = copy_tables(content)
        for key, value in zip(keys, values, strict=True):
            put(changed, key, copy_tables(value))
        short = [key.rpartition(".")[2] for key in keys]
        names = short if len(set(short)) == len(short) else keys
        found[", ".join(f"{n}={label}" for n, label in zip(names, labels, strict=True)) or "all"] = changed
    return found
