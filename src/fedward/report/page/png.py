"""Examples as small pictures: PNG files inside the page."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue


def is_picture(shape: Sequence[int]) -> bool:
    """Whether examples of this shape are pictures: one channel or three, and more than a row.

    >>> is_picture((1, 28, 28)), is_picture((3, 32, 32)), is_picture((64,))
    (True, True, False)
    """
    return len(shape) == 3 and shape[0] in (1, 3) and min(shape[1:]) > 1


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """The address of a picture ``[channels, height, width]`` that holds the picture itself.

    >>> data_uri(np.zeros((1, 2, 2), dtype=np.uint8))[:22]
    'data:image/png;base64,'
    """
    if not is_picture(pixels.shape):
        raise InvalidValue(f"a picture must have one or three channels, got shape {pixels.shape}")
    channels, height, width = pixels.shape
    rows = pixels.transpose(1, 2, 0).reshape(height, -1)
    # Each row begins with its filter: none.
    raw = np.concatenate([np.zeros((height, 1), dtype=np.uint8), rows], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if channels == 1 else 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        [_chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(raw, 9)), _chunk(b"IEND", b"")]
    )
    return "data:image/png;base64," + base64.b64encode(content).decode()


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def as_pixels(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Examples ``[n, channels, height, width]`` as brightness from 0 to 255.

    Values from 0 to 1 are that; others (standardised data) are stretched, each channel by itself and all
    examples alike, so that pictures of the same call can be compared.
    """
    low, high = values.min(axis=(0, 2, 3), keepdims=True), values.max(axis=(0, 2, 3), keepdims=True)
    if low.min() < 0 or high.max() > 1:
        values = (values - low) / np.maximum(high - low, 1e-12)
    return np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)
