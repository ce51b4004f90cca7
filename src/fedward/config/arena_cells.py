"""The cells of an arena: one attack on one defence, on one kind of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedward.base.validate import InvalidValue, nearest

NO_ATTACK = "no attack"
NO_DEFENCE = "no defence"


@dataclass(frozen=True, kw_only=True, order=True)
class Cell:
    """One attack on one defence.

    Args:
      data: the name of the kind of data; empty where there is only the file's own.
      defence, attack: their names.

    >>> Cell(data="", defence="krum", attack="min_max").labels
    {'defence': 'krum', 'attack': 'min_max'}
    """

    data: str
    defence: str
    attack: str

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> Cell:
        """The cell of a training that is labelled so."""
        return cls(data=labels.get("data", ""), defence=labels["defence"], attack=labels["attack"])

    @property
    def labels(self) -> dict[str, str]:
        """Its sides by name; no data where there is one kind."""
        sides = {"data": self.data, "defence": self.defence, "attack": self.attack}
        return {name: value for name, value in sides.items() if value}

    def __str__(self) -> str:
        return ", ".join(self.labels.values())


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A cell that cannot be trained.

    Args:
      cell: which.
      why: in words.
    """

    cell: Cell
    why: str


@dataclass(frozen=True, kw_only=True)
class Only:
    """The cells that are asked for.

    Args:
      sides: for each side that is narrowed the names that count.

    >>> only = Only.parse(["defence=krum,median"])
    >>> only.holds(Cell(data="", defence="krum", attack="min_max"))
    True
    """

    sides: Mapping[str, frozenset[str]]

    @classmethod
    def parse(cls, texts: Sequence[str]) -> Only:
        """Reads ``SIDE=NAME,NAME``: the sides are attack, defence and data."""
        found: dict[str, frozenset[str]] = {}
        for text in texts:
            side, equals, names = text.partition("=")
            if not equals or side not in ("attack", "defence", "data"):
                hint = nearest(side, ["attack", "defence", "data"])
                raise InvalidValue(
                    "cells must be chosen by attack=NAME,..., defence=NAME,... or data=NAME,..., got "
                    f"{text!r}{hint}"
                )
            chosen = frozenset(name.strip() for name in names.split(","))
            found[side] = found.get(side, frozenset()) | chosen
        return cls(sides=found)

    def check(self, known: Mapping[str, Sequence[str]]) -> None:
        """Raises if a name is none of the arena's."""
        for side, names in self.sides.items():
            for name in sorted(names):
                if name not in known[side]:
                    raise InvalidValue(
                        f"{side} must be one of {', '.join(known[side])}, got {name!r}"
                        f"{nearest(name, known[side])}"
                    )

    def holds(self, cell: Cell) -> bool:
        """Whether a cell is asked for."""
        return all(getattr(cell, side) in names for side, names in self.sides.items())
