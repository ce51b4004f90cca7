"""The IDX format of MNIST: a magic number, the dimensions, then the bytes."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue
from fedward.datasets.files import explain_read_errors, open_binary

UNSIGNED_BYTE = 0x08
_CHUNK = 1 << 20


def read(path: Path, ndim: int) -> NDArray[np.uint8]:
    """Reads unsigned bytes in ``ndim`` dimensions from an IDX file, packed (``.gz``) or not.

    The file is 0, 0, 8 (the type), ndim, then ndim big-endian sizes of 4 bytes, then one byte a value.
    A file that is not exactly this, too short and too long included, is refused by name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "labels-idx1-ubyte"
    ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 3]))
    ...     read(path, 1).tolist()
    [7, 3]

    LeCun, Cortes and Burges, The MNIST database of handwritten digits, 1998.
    """
    with explain_read_errors(path, "an IDX file"), open_binary(path) as file:
        return _parse(path, file, ndim)


def _parse(path: Path, file: BinaryIO, ndim: int) -> NDArray[np.uint8]:
    magic = file.read(4)
    expected = bytes([0, 0, UNSIGNED_BYTE, ndim])
    if magic != expected:
        raise InvalidValue(
            f"{path} must begin with {expected.hex(' ')} (IDX, unsigned bytes, {ndim} dimensions), "
            f"got {magic.hex(' ') or 'an empty file'}"
        )
    header = file.read(4 * ndim)
    if len(header) < 4 * ndim:
        raise InvalidValue(f"{path} must have {4 * ndim} bytes of dimensions, got {len(header)}")
    shape = struct.unpack(f">{ndim}I", header)
    size = math.prod(shape)

    values = bytearray()
    # In pieces: the sizes are only a claim, and a false one must not reserve memory.
    while len(values) <= size and (chunk := file.read(_CHUNK)):
        values += chunk
    if len(values) != size:
        found = "more" if len(values) > size else len(values)
        raise InvalidValue(f"{path} must hold {size} bytes of data for its dimensions {shape}, got {found}")
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)
