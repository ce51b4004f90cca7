"""The numbers that an attacker saw of many trainings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedward.attacks.inference.auc import Floats
from fedward.base.validate import InvalidValue


@dataclass(frozen=True, kw_only=True, eq=False)
class SeenTrainings:
    """What an attacker saw of some trainings: named tables, one row a training and one column a round.

    Args:
      inside: whether the canary was in each of them.
      tables: what was seen; all have as many rows.
    """

    inside: np.ndarray[tuple[int], np.dtype[np.bool_]]
    tables: Mapping[str, Floats]

    def __post_init__(self) -> None:
        for name, table in self.tables.items():
            if table.ndim != 2 or len(table) != len(self.inside):
                raise InvalidValue(f"{name} must have a row for each of {len(self.inside)} trainings")

    def __len__(self) -> int:
        return len(self.inside)

    def part(self, start: int, stop: int) -> SeenTrainings:
        """Some of the trainings."""
        tables = {name: table[start:stop] for name, table in self.tables.items()}
        return SeenTrainings(inside=self.inside[start:stop], tables=tables)
