"""Small data for pages that name a large data set, so that their commands can be run by the tests."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np


def write_garments(folder: str, *, train: int = 900, test: int = 120) -> None:
    """Writes pictures of 28 x 28 pixels in ten classes, in the four files of Fashion-MNIST.

    Each class is a bright square in a place of its own, on noise: what a small network learns in a round.
    """
    place = Path(folder)
    place.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for name, count in (("train", train), ("t10k", test)):
        labels = np.arange(count) % 10
        pictures = rng.integers(0, 60, size=(count, 28, 28))
        for picture, label in zip(pictures, labels, strict=True):
            row, column = 2 + 13 * (label // 5), 1 + 5 * (label % 5)
            picture[row : row + 9, column : column + 5] += 180
        _write(place / f"{name}-images-idx3-ubyte.gz", 0x803, pictures)
        _write(place / f"{name}-labels-idx1-ubyte.gz", 0x801, labels)


def _write(path: Path, magic: int, values: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> None:
    header = struct.pack(f">{1 + values.ndim}I", magic, *values.shape)
    path.write_bytes(gzip.compress(header + values.astype(np.uint8).tobytes(), mtime=0))
