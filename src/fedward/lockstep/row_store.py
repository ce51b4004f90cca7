"""Rows that many replicas want, in a bounded amount of memory."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Hashable
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import torch
from torch import Tensor

from fedward.base.validate import whole
from fedward.core.plain import plain_view
from fedward.core.types import Row

MEMORY = 256 * 2**20


@dataclass(frozen=True, eq=False)
class _OnDisk:
    user: int
    norm: float | None
    dtype: np.dtype[np.float32] | np.dtype[np.float64]
    place: int
    bytes: int


class RowStore:
    """Rows by name: in memory as long as they fit, then in a temporary file.

    The file has no name, so that nothing is left of it however the process ends.

    >>> store = RowStore(memory=0)
    >>> store.put("a", Row(3, torch.tensor([1.0, 2.0])))
    >>> store.get("a").update, store.get("a").user, "b" in store
    (tensor([1., 2.]), 3, False)
    """

    def __init__(self, memory: int = MEMORY) -> None:
        self._memory = self._free = whole("memory", memory, at_least=0)
        self._rows: dict[Hashable, Row | _OnDisk] = {}
        self._file: BinaryIO | None = None
        self._end = 0
        # Places in the file that nothing lies at any more, by their size; rows of one model have one size.
        self._gaps: dict[int, list[int]] = {}

    @property
    def free(self) -> int:
        """Bytes of memory that rows may still take."""
        return self._free

    def __contains__(self, name: Hashable) -> bool:
        return name in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, name: Hashable, row: Row) -> None:
        update, size = _storable(row), _size(row)
        if update is None or size <= self._free:
            self._free -= size
            self._rows[name] = row
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it lives as long as the store
            weakref.finalize(self, self._file.close)
        array = update.numpy()
        gaps = self._gaps.get(size)
        place = gaps.pop() if gaps else self._end
        self._end = max(self._end, place + size)
        content, done = array.data.cast("B"), 0
        while done < size:  # a file may take less than it was given
            done += os.pwrite(self._file.fileno(), content[done:], place + done)
        self._rows[name] = _OnDisk(row.user, row.norm, array.dtype, place, size)

    def get(self, name: Hashable) -> Row:
        row = self._rows[name]
        if isinstance(row, Row):
            return row
        assert self._file is not None
        content = bytearray()
        while len(content) < row.bytes:
            content += os.pread(self._file.fileno(), row.bytes - len(content), row.place + len(content))
        return Row(row.user, torch.from_numpy(np.frombuffer(content, dtype=row.dtype)), row.norm)

    def pop(self, name: Hashable) -> Row:
        """A row that nobody will ask for again: its room is free for others."""
        row, held = self.get(name), self._rows.pop(name)
        if isinstance(held, _OnDisk):
            self._gaps.setdefault(held.bytes, []).append(held.place)
        else:
            self._free += _size(held)
        return row

    def clear(self) -> None:
        """Forgets everything."""
        self._rows.clear()
        self._gaps.clear()
        self._free, self._end = self._memory, 0
        if self._file is not None:
            self._file.close()
            self._file = None


def _storable(row: Row) -> Tensor | None:
    """The update of a row, if it can be written to a file; what is none is left for the round to reject."""
    view = plain_view(row.update, torch.device("cpu"))
    usual = view is not None and view.dtype in (torch.float32, torch.float64) and view.is_contiguous()
    return view if usual else None


def _size(row: Row) -> int:
    # A user that dropped out has sent nothing, and what is no update is not what fills the memory.
    update = _storable(row)
    return 0 if update is None else update.nbytes
