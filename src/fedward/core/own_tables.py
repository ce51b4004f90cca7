"""Tables of somebody's own, of pandas or of Hugging Face, read into the arrays of a federation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidType, InvalidValue, nearest
from fedward.core.cells import Picture, read_inputs, read_names, read_numbers
from fedward.core.examples import Ragged
from fedward.core.vocabulary import Vocabulary

Inputs = NDArray[Any] | Ragged


class Columns(Protocol):
    """A table by its columns."""

    @property
    def names(self) -> list[str]: ...

    def __len__(self) -> int: ...

    def cells(self, name: str) -> Any:
        """All cells of one column, from the first row to the last."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OwnExamples:
    """Inputs, numbered labels and users; test inputs and labels; and the names of the classes, if known."""

    x: Inputs
    y: NDArray[np.int64]
    users: NDArray[Any]
    test: tuple[Inputs, NDArray[np.int64]] | None
    num_classes: int
    class_names: tuple[str, ...] | None


def read_own_table(
    table: Columns,
    test: Columns | None,
    *,
    user: str,
    label: str,
    inputs: str | Sequence[str],
    vocabulary: Vocabulary | None,
    class_names: tuple[str, ...] | None = None,
) -> OwnExamples:
    """The examples of a table, and those of a table of test examples with the same columns.

    Args:
      table: the training examples.
      test: the test examples, whose users do not matter.
      user: the column that names the user.
      label: the column with the class.
      inputs: one column of numbers, texts, pictures or arrays; or some columns of numbers.
      vocabulary: the words that tokens stand for, if the inputs are texts or tokens.
      class_names: what classes that are numbers are called.
    """
    wanted = [inputs] if isinstance(inputs, str) else list(inputs)
    if not wanted or len({user, label, *wanted}) != 2 + len(wanted):
        raise InvalidValue(f"user, label and inputs must be different columns, got {user}, {label}, {wanted}")
    _check_table("table", table, [user, label, *wanted])
    users = read_names(user, table.cells(user), "users")
    x, y = _inputs(table, inputs, vocabulary), read_names(label, table.cells(label), "labels")
    x_test = y_test = None
    if test is not None:
        _check_table("test table", test, [label, *wanted])
        x_test, y_test = _inputs(test, inputs, vocabulary), read_names(label, test.cells(label), "labels")
    return numbered(x, y, users, x_test, y_test, class_names)


def numbered(
    x: Inputs,
    y: NDArray[Any],
    users: NDArray[Any],
    x_test: Inputs | None,
    y_test: NDArray[Any] | None,
    class_names: tuple[str, ...] | None = None,
) -> OwnExamples:
    """The same with labels as numbers: labels that are text are numbered in alphabetical order."""
    y, y_test = _wide(y), None if y_test is None else _wide(y_test)
    both = y if y_test is None else np.concatenate([y, y_test])
    if y_test is not None and (y.dtype.kind == "U") != (y_test.dtype.kind == "U"):
        raise InvalidValue("labels must be numbers in training and test examples, or text in both")
    if both.dtype.kind == "U":
        names, both = np.unique(both, return_inverse=True)
        class_names = tuple(str(name) for name in names)
    elif len(both) and both.min() < 0:
        row = int(np.argmin(both))
        raise InvalidValue(f"labels must be at least 0, got {both[row]}; it may stand for a missing label")
    largest = int(both.max()) if len(both) else 0
    if class_names is not None and largest >= len(class_names):
        raise InvalidValue(
            f"labels must be below the number of named classes, {len(class_names)}, got {largest}"
        )
    y, y_test = both[: len(y)], None if y_test is None else both[len(y) :]
    return OwnExamples(
        x=x,
        y=y,
        users=users,
        test=None if x_test is None or y_test is None else (x_test, y_test),
        num_classes=max(2, largest + 1 if class_names is None else len(class_names)),
        class_names=class_names,
    )


class FrameColumns:
    """The columns of a frame of pandas."""

    def __init__(self, frame: Any, what: str = "frame") -> None:
        if not isinstance(frame, _Frame):
            kind = type(frame)
            raise InvalidType(f"{what} must be a DataFrame of pandas, got {kind.__module__}.{kind.__name__}")
        self._frame = frame
        self.names = [name for name in frame.columns if isinstance(name, str)]

    def __len__(self) -> int:
        return len(self._frame)

    def cells(self, name: str) -> Any:
        if self.names.count(name) > 1:
            raise InvalidValue(f"column {name!r} must be there once, got {self.names.count(name)} of them")
        return np.asarray(self._frame[name])


class DatasetColumns:
    """The columns of one split of a data set of Hugging Face."""

    def __init__(self, dataset: Any, what: str = "dataset") -> None:
        if isinstance(dataset, Mapping):
            splits = ", ".join(map(repr, dataset))
            raise InvalidType(f"{what} must be one split of the data, got a dictionary of splits: {splits}")
        if not isinstance(dataset, _Dataset):
            raise InvalidType(
                f"{what} must be a datasets.Dataset that lies in memory or on disk (map-style), got "
                f"{type(dataset).__name__}"
            )
        self._dataset = dataset
        self.names = list(dataset.column_names)

    def __len__(self) -> int:
        return len(self._dataset)

    def cells(self, name: str) -> Any:
        plain = self._dataset.with_format(None)
        # As numpy arrays, but for pictures: these know how their colours are stored.
        pictures = len(self) and isinstance(plain[0][name], Picture)
        if pictures:
            return plain[name][:]
        cells = self._dataset.with_format("numpy")[name][:]
        feature = self._feature(name)
        # Whole numbers of any width come as int64.
        bytes_ = isinstance(feature, _Array) and feature.dtype == "uint8" and isinstance(cells, np.ndarray)
        return cells.astype(np.uint8) if bytes_ else cells

    def _feature(self, name: str) -> Any:
        features = self._dataset.features
        return features.get(name) if isinstance(features, Mapping) else None

    def class_names(self, name: str) -> tuple[str, ...] | None:
        """What the classes of a column are called, if its feature says so."""
        feature = self._feature(name)
        return tuple(feature.names) if isinstance(feature, _ClassLabel) else None


@runtime_checkable
class _Frame(Protocol):
    @property
    def columns(self) -> Any: ...

    def __getitem__(self, name: str) -> Any: ...

    def __len__(self) -> int: ...

    def itertuples(self) -> Iterator[Any]: ...


@runtime_checkable
class _Dataset(Protocol):
    @property
    def column_names(self) -> list[str]: ...

    @property
    def features(self) -> Any: ...

    def with_format(self, type: str | None) -> Any: ...

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any) -> Any: ...


@runtime_checkable
class _Array(Protocol):
    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> str: ...


@runtime_checkable
class _ClassLabel(Protocol):
    @property
    def names(self) -> list[str]: ...

    def int2str(self, values: Any) -> Any: ...


def _check_table(what: str, table: Columns, wanted: list[str]) -> None:
    for name in wanted:
        if not isinstance(name, str):
            raise InvalidType(f"a column must be named by a text, got {name!r}")
        if name not in table.names:
            has = ", ".join(table.names) or "no columns"
            raise InvalidValue(
                f"{what} must have the column {name!r}{nearest(name, table.names)}; it has {has}"
            )
    if not len(table):
        raise InvalidValue(f"{what} must hold at least one example, got 0")


def _wide(labels: NDArray[Any]) -> NDArray[Any]:
    # Signed and unsigned whole numbers together would become floats.
    return labels if labels.dtype.kind == "U" else labels.astype(np.int64)


def _inputs(table: Columns, inputs: str | Sequence[str], vocabulary: Vocabulary | None) -> Inputs:
    if isinstance(inputs, str):
        return read_inputs(inputs, table.cells(inputs), vocabulary)
    return np.stack([read_numbers(name, table.cells(name)) for name in inputs], axis=1)
