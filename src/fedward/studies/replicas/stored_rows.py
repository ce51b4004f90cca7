"""Rows of the first round in the object store of a cluster: trained once, read by every block."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from fedward.backends.ray.node_memory import held
from fedward.backends.ray.shipped import Shipped, ship, unship
from fedward.core.types import Row

AT_ONCE = 16 * 2**20
"""Bytes of rows in one object: a block fetches the objects that it needs."""


class RowPlace(NamedTuple):
    """Where a row lies, by object and place in it; whose it is, and the norm that came with it."""

    group: int
    place: int
    user: int
    norm: float | None


@dataclass(frozen=True, eq=False)
class StoredRows:
    """Rows by the names of their jobs, as a node reads them."""

    places: Mapping[Hashable, RowPlace]
    groups: Sequence[Any]

    def __contains__(self, name: Hashable) -> bool:
        return name in self.places

    def get(self, name: Hashable) -> Row:
        found = self.places[name]
        rows: NDArray[np.float32] = held(self.groups[found.group], _as_it_lies)
        # A copy: what lies in the store nobody may write to.
        update = torch.empty(rows.shape[1])
        update.numpy()[:] = rows[found.place]
        return Row(found.user, update, found.norm)


@dataclass(frozen=True, eq=False)
class RowsInStore:
    """The references to all of that, as the driver holds them."""

    index: Shipped
    groups: Sequence[Any]


def read_rows(reference: Any) -> StoredRows:
    """The rows behind a reference to ``RowsInStore``."""
    found: StoredRows = held(reference, lambda stored: StoredRows(unship(stored.index), stored.groups))
    return found


def store_rows(named: Iterable[tuple[Hashable, Row]]) -> Iterator[tuple[int, Any]]:
    """Puts rows into the object store as they come; yields their number and, at last, the reference to all.

    A row of another kind than float32 is left out: whoever needs it trains it again.
    """
    import ray

    places: dict[Hashable, RowPlace] = {}
    groups: list[Any] = []
    waiting: list[NDArray[Any]] = []
    for name, row in named:
        update = row.update.numpy()
        if update.dtype == np.float32:
            if waiting and (len(waiting) + 1) * update.nbytes > AT_ONCE:
                groups.append(ray.put(np.stack(waiting)))
                waiting = []
            places[name] = RowPlace(len(groups), len(waiting), row.user, row.norm)
            waiting.append(update)
        yield len(places), None
    if waiting:
        groups.append(ray.put(np.stack(waiting)))
    yield len(places), ray.put(RowsInStore(ship(places), groups))


def _as_it_lies(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return rows
