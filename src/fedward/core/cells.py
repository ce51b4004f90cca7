"""The cells of a column of somebody's own table, read as inputs, labels or users."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Ragged
from fedward.core.texts import encode_all
from fedward.core.vocabulary import Vocabulary

_CHANNELS = (1, 3, 4)


@runtime_checkable
class Picture(Protocol):
    """A picture of Pillow, whatever its colours are stored as."""

    @property
    def mode(self) -> str: ...

    def convert(self, mode: str) -> Any: ...


def read_inputs(column: str, cells: Any, vocabulary: Vocabulary | None = None) -> NDArray[Any] | Ragged:
    """The input of each example: a number, a text, a picture, a list or an array of any shape.

    - Numbers become one feature, ``[n, 1]``.
    - Texts become tokens of the vocabulary, which must be given.
    - Pictures (of Pillow, or arrays of bytes in two or three dimensions) become ``[channels, height,
      width]``, divided by 255. The last of three dimensions is the channels if it is 1, 3 or 4.
    - Lists of whole numbers are tokens, and may have different lengths; all else has one shape.

    >>> read_inputs("x", [[1.5, 2.0], [0.5, 3.0]]).tolist()
    [[1.5, 2.0], [0.5, 3.0]]
    >>> read_inputs("words", [[4, 2, 7], [3]]).offsets
    tensor([0, 3, 4])
    """
    if _are_texts(cells):
        if vocabulary is None:
            raise InvalidValue(
                f"column {column!r} holds text, which needs a vocabulary: give one, for instance "
                "fedward.core.texts.most_frequent_words(texts, 1000), which no ε covers"
            )
        return encode_all(cells, vocabulary)[0]
    if isinstance(cells, np.ndarray) and cells.dtype != object:
        values = cells
    else:
        arrays = [_array(column, row, cell) for row, cell in enumerate(cells)]
        if _is_ragged(arrays):
            return Ragged.from_sequences([array.astype(np.int64) for array in arrays])
        values = _stack(column, arrays)
    if values.dtype.kind not in "buif":
        raise InvalidType(f"column {column!r} must hold numbers, texts or pictures, got {values.dtype}")
    if values.ndim == 1:
        return read_numbers(column, values)[:, None]
    if values.dtype == np.uint8 and values.ndim >= 3:
        return _scaled_pictures(values)
    if values.dtype.kind in "iu" and values.ndim >= 3:
        raise InvalidType(
            f"column {column!r} must hold floats, pictures or lists of tokens, got {values.dtype} of shape "
            f"{values.shape[1:]}; scale pictures first, for instance x / 255"
        )
    return _finite(column, values) if values.dtype.kind == "f" else values


def read_numbers(column: str, cells: Any) -> NDArray[np.float32]:
    """One finite number for each example, in single precision.

    >>> read_numbers("age", [3, None])
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: column 'age' must hold finite numbers, but row 1 has None
    """
    array = np.asarray(cells)
    if array.dtype.kind not in "buif":
        for row, cell in enumerate(cells):
            if not isinstance(cell, numbers.Real):
                raise _wrong(column, "finite numbers", row, cell)
        array = np.array([float(cell) for cell in cells])
    if array.ndim != 1:
        raise InvalidValue(f"column {column!r} must hold one number for each row, got shape {array.shape}")
    with np.errstate(over="ignore"):  # too large is not finite, and that is refused
        single = array.astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(single))
    if len(wrong):
        raise _wrong(column, "finite numbers", int(wrong[0]), array[wrong[0]].item())
    return single


def read_names(column: str, cells: Any, what: str) -> NDArray[Any]:
    """Whole numbers, or texts that are not empty: the user or the class of each example. Never a mixture.

    >>> read_names("who", ["ann", "bob"], "users").tolist()
    ['ann', 'bob']
    >>> read_names("ill", [True, False], "labels").tolist()
    [1, 0]
    """
    array = np.asarray(cells)
    if array.dtype.kind in "iu" and array.ndim == 1:
        return array
    if array.dtype.kind == "b" and array.ndim == 1:
        return array.astype(np.int64)
    if array.dtype.kind == "f" and array.ndim == 1 and np.isnan(array).any():
        # What pandas makes of whole numbers of which one is missing.
        raise _wrong(column, f"{what} without gaps", int(np.isnan(array).argmax()), np.nan)
    cells = list(cells)  # a column of pandas counts its rows otherwise
    kinds = (str, numbers.Integral)
    kind = next((kind for kind in kinds if len(cells) and isinstance(cells[0], kind)), kinds)
    for row, cell in enumerate(cells):
        if not isinstance(cell, kind) or cell == "":
            raise _wrong(column, f"{what}, whole numbers only or text only", row, cell)
    return np.array([str(cell) if kind is str else int(cell) for cell in cells])


def _are_texts(cells: Any) -> bool:
    if isinstance(cells, np.ndarray) and cells.dtype != object:
        return bool(cells.dtype.kind == "U")
    return len(cells) > 0 and all(isinstance(cell, str) for cell in cells)


def _array(column: str, row: int, cell: Any) -> NDArray[Any]:
    if isinstance(cell, Picture):
        cell = cell.convert("L" if cell.mode in ("1", "L") else "RGB")
    if isinstance(cell, Tensor):
        cell = cell.detach().cpu()
        cell = (cell.float() if cell.is_floating_point() else cell).numpy()
    try:
        array = np.asarray(cell)
    except ValueError as error:  # numpy has no lists of unequal lists
        raise InvalidValue(
            f"column {column!r} must hold arrays, but row {row} has a list of lists of unequal lengths"
        ) from error
    if array.dtype.kind not in "buif":
        raise _wrong(column, "numbers, texts or pictures", row, cell)
    return array


def _is_ragged(arrays: Sequence[NDArray[Any]]) -> bool:
    lengths = {array.shape for array in arrays}
    return len(lengths) > 1 and all(array.ndim == 1 and array.dtype.kind in "iu" for array in arrays)


def _stack(column: str, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    for row, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            raise InvalidValue(
                f"column {column!r} must hold inputs of one shape, but row {row} has {array.shape} and row 0 "
                f"has {arrays[0].shape}"
            )
    return np.stack(arrays) if arrays else np.empty(0)


def _scaled_pictures(values: NDArray[np.uint8]) -> NDArray[np.float32]:
    if values.ndim == 3:
        values = values[:, None]
    elif values.ndim == 4 and values.shape[-1] in _CHANNELS:
        values = values.transpose(0, 3, 1, 2)
    scaled: NDArray[np.float32] = np.divide(values, 255, dtype=np.float32)
    return np.ascontiguousarray(scaled)


def _finite(column: str, values: NDArray[Any]) -> NDArray[Any]:
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        raise _wrong(column, "finite numbers", row, values[row][wrong[row]].flat[0])
    return values


def _wrong(column: str, what: str, row: int, cell: Any) -> InvalidValue:
    shown = repr(cell.item() if isinstance(cell, np.generic) else cell)
    return InvalidValue(f"column {column!r} must hold {what}, but row {row} has {shown[:40]}")
