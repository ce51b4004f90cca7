"""Rows of the first round: those that were trained here, and those that were given."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from fedward.core.types import Row
from fedward.lockstep.row_store import RowStore


class GivenRows(Protocol):
    """Rows by the names of their jobs, wherever they lie."""

    def __contains__(self, name: Hashable) -> bool: ...

    def get(self, name: Hashable) -> Row: ...


class FirstRows:
    """Rows that were given come first, and take none of the memory.

    Args:
      own: takes the others.
      given: None for none.
    """

    def __init__(self, own: RowStore, given: GivenRows | None) -> None:
        self._own, self._given = own, given

    @property
    def free(self) -> int:
        """Bytes of memory that rows may still take."""
        return self._own.free

    def __contains__(self, name: Hashable) -> bool:
        return name in self._own or (self._given is not None and name in self._given)

    def get(self, name: Hashable) -> Row:
        if self._given is not None and name in self._given:
            return self._given.get(name)
        return self._own.get(name)

    def put(self, name: Hashable, row: Row) -> None:
        self._own.put(name, row)

    def clear(self) -> None:
        """Forgets all that was trained here."""
        self._own.clear()
