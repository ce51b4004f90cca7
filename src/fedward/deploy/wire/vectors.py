"""Flat vectors as raw bytes: little-endian floats of a kind and number that both sides know beforehand."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fedward.base.validate import InvalidType
from fedward.deploy.wire.packet import RawArray, Reader

_KINDS: dict[torch.dtype, str] = {torch.float32: "float32", torch.float64: "float64"}
KINDS: tuple[str, ...] = tuple(_KINDS.values())


def kind_of(vector: Tensor) -> str:
    """The name of a vector's type on the wire."""
    if vector.dtype not in _KINDS:
        raise InvalidType(f"vectors must be {' or '.join(KINDS)}, got {vector.dtype}")
    return _KINDS[vector.dtype]


def pack(rows: Sequence[Tensor], like: Tensor) -> RawArray:
    """Vectors of one size, one after the other: ``[rows, size]``.

    >>> pack([torch.ones(2)], torch.zeros(2)).shape
    (1, 2)
    """
    kind, size = kind_of(like), len(like)
    together = torch.stack(list(rows)) if rows else like.new_zeros(0, size)
    array = np.asarray(together.detach().contiguous().numpy())
    little = array if sys.byteorder == "little" else array.byteswap()
    return RawArray(kind=kind, shape=(len(rows), size), data=little.tobytes())


def unpack(reader: Reader, name: str, rows: int, kind: str, size: int) -> list[Tensor]:
    """That many vectors of that kind and size; anything else is refused before a byte of it is read."""
    dtype = np.dtype(kind)
    data = reader.array(name, kind, (rows, size), dtype.itemsize)
    array = np.frombuffer(data, dtype=dtype.newbyteorder("<")).astype(dtype).reshape(rows, size)
    return list(torch.from_numpy(array).unbind(0))
