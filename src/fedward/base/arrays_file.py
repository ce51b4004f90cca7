"""Named arrays in one npz file: written whole, read in part, checked without being loaded."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.limited_files import require_modest_archive
from fedward.base.validate import InvalidValue

Arrays = dict[str, NDArray[Any]]


def arrays_bytes(arrays: Arrays) -> bytes:
    """The content of a file with these arrays."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def read_arrays(path: Path, wanted: Callable[[str], bool] = lambda name: True) -> Arrays:
    """The arrays whose names are wanted; the others stay on disk, and nothing in the file is run."""
    try:
        with path.open("rb") as opened:
            require_modest_archive(opened, path)
            with np.load(opened, allow_pickle=False) as file:
                return {name: file[name] for name in file.files if wanted(name)}
    except InvalidValue:
        raise
    except Exception as error:
        # Damage shows as anything: zlib.error, BadZipFile, EOFError, ...
        raise InvalidValue(f"{path} is damaged and cannot be read: {error}") from error


def read_array(path: Path, name: str) -> NDArray[Any]:
    """One array."""
    found = read_arrays(path, lambda each: each == name)
    if name not in found:
        raise InvalidValue(f"{path} must hold an array {name!r}, got none")
    return found[name]


def check_arrays(path: Path) -> None:
    """Reads through a file, a little at a time, and compares checksums."""
    try:
        with path.open("rb") as opened:
            require_modest_archive(opened, path)
            with zipfile.ZipFile(opened) as file:
                broken = file.testzip()
    except InvalidValue:
        raise
    except Exception as error:
        raise InvalidValue(f"{path} is damaged and cannot be read: {error}") from error
    if broken is not None:
        raise InvalidValue(f"{path} is damaged: the checksum of {broken.removesuffix('.npy')} is another")
