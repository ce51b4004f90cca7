"""LFW as arrays in one NPZ file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue
from fedward.datasets.faces import SIDE, Faces
from fedward.datasets.files import read_arrays

WHAT = "an archive of arrays of faces"


def read_arrays_of_faces(folder: Path) -> tuple[Faces, Faces]:
    """Training and test faces of ``FOLDER/lfw/lfw48.npz``."""
    path = folder / "lfw" / "lfw48.npz"
    arrays = read_arrays(path, WHAT)
    return _part(path, arrays, "train"), _part(path, arrays, "test")


def _part(path: Path, arrays: dict[str, NDArray[Any]], part: str) -> Faces:
    x = _array(path, arrays, f"x_{part}", "u", (None, SIDE, SIDE, 3))
    if x.dtype != np.uint8 or not len(x):
        raise InvalidValue(f"x_{part} of {path} must be at least one image of bytes, got {x.dtype} {x.shape}")
    y = _array(path, arrays, f"y_{part}", "iu", (len(x),)).astype(np.int64)
    if not np.isin(y, (0, 1)).all():
        raise InvalidValue(f"y_{part} of {path} must be 0 or 1, got {y[~np.isin(y, (0, 1))][0]}")
    return Faces(
        x=np.ascontiguousarray(x.transpose(0, 3, 1, 2)),
        y=y,
        users=_array(path, arrays, f"users_{part}", "iuU", (len(x),)),
        properties=_races(path, arrays, part, len(x)) | _attributes(path, arrays, part, len(x)),
    )


def _races(path: Path, arrays: dict[str, NDArray[Any]], part: str, n: int) -> dict[str, NDArray[np.float32]]:
    if "races" not in arrays:
        return {}
    races = _array(path, arrays, "races", "U", (None,)).tolist()
    number = _array(path, arrays, f"race_id_{part}", "iu", (n,))
    if ((number < 0) | (number >= len(races))).any():
        raise InvalidValue(f"race_id_{part} of {path} must be from 0 to {len(races) - 1}")
    return {race: (number == i).astype(np.float32) for i, race in enumerate(races)}


def _attributes(
    path: Path, arrays: dict[str, NDArray[Any]], part: str, n: int
) -> dict[str, NDArray[np.float32]]:
    if "attr_names" not in arrays:
        return {}
    names = _array(path, arrays, "attr_names", "U", (None,)).tolist()
    values = _array(path, arrays, f"attr_{part}", "u", (n, len(names)))
    if values.dtype != np.uint8:
        raise InvalidValue(
            f"attr_{part} of {path} must be bytes, 255 times a probability, got {values.dtype}"
        )
    return {name: (values[:, i] / 255).astype(np.float32) for i, name in enumerate(names)}


def _array(
    path: Path, arrays: dict[str, NDArray[Any]], name: str, kinds: str, shape: tuple[int | None, ...]
) -> NDArray[Any]:
    if name not in arrays:
        raise InvalidValue(f"{path} must hold the array {name}, got {', '.join(arrays) or 'no array'}")
    array = arrays[name]
    fits = array.ndim == len(shape) and all(
        want is None or want == have for want, have in zip(shape, array.shape, strict=True)
    )
    if array.dtype.kind not in kinds or not fits:
        wanted = " x ".join("n" if size is None else str(size) for size in shape)
        kind = "strings" if kinds == "U" else "whole numbers"
        raise InvalidValue(
            f"{name} of {path} must be {wanted} {kind}, got {array.dtype} of shape {array.shape}"
        )
    return array
