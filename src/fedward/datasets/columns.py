"""Named columns turned into inputs, labels and users."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue, nearest


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Which columns are asked for.

    Args:
      user: the column that names the user.
      label: the column with the class.
      features: the columns of the inputs; all others if None.
      by_user: whether users are needed.
    """

    user: str
    label: str
    features: tuple[str, ...] | None
    by_user: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """Inputs, labels (numbers or text), users if they were asked for, and test rows if the file has some."""

    x: NDArray[Any]
    y: NDArray[Any]
    users: NDArray[Any] | None
    features: tuple[str, ...] | None = None
    test: tuple[NDArray[Any], NDArray[Any]] | None = None


def table_of(path: Path, columns: dict[str, NDArray[Any]], wanted: Wanted, rows: list[str]) -> Table:
    """The table that these columns make; ``rows`` says how errors call each row.

    >>> columns = {"age": np.array(["3", "4"]), "ill": np.array(["no", "yes"])}
    >>> wanted = Wanted(user="user", label="ill", features=None, by_user=False)
    >>> table = table_of(Path("some.csv"), columns, wanted, ["line 2", "line 3"])
    >>> table.x.tolist(), table.y.tolist(), table.features
    ([[3.0], [4.0]], ['no', 'yes'], ('age',))
    """
    needed = [wanted.label, *([wanted.user] if wanted.by_user else []), *(wanted.features or ())]
    for name in needed:
        if name not in columns:
            more = f" and {len(columns) - 50:,} more" if len(columns) > 50 else ""
            has = ", ".join([*columns][:50]) + more or "no columns"
            raise InvalidValue(f"{path} must have the column {name!r}{nearest(name, columns)}; it has {has}")
    if not rows:
        raise InvalidValue(f"{path} must hold at least one row, got 0")
    features = wanted.features
    if features is None:
        features = tuple(name for name in columns if name not in (wanted.label, wanted.user))
    if not features:
        raise InvalidValue(f"{path} must have columns beside user and label, got none")
    return Table(
        x=np.stack([_numbers(path, name, columns[name], rows) for name in features], axis=1),
        y=_labels(path, wanted.label, columns[wanted.label], rows),
        users=_users(path, wanted.user, columns[wanted.user], rows) if wanted.by_user else None,
        features=features,
    )


def _numbers(path: Path, name: str, values: NDArray[Any], rows: list[str]) -> NDArray[np.float32]:
    if values.dtype.kind not in "buifU":
        raise InvalidValue(f"column {name!r} of {path} must hold finite numbers, got {values.dtype}")
    with np.errstate(over="ignore"):  # too large is not finite, and that is refused below
        numbers = _floats(values).astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise _wrong_cell(path, name, "finite numbers", values, rows, wrong[0])
    return numbers


def _users(path: Path, name: str, values: NDArray[Any], rows: list[str]) -> NDArray[Any]:
    if values.dtype.kind not in "iuU":
        raise InvalidValue(f"column {name!r} of {path} must hold whole numbers or text, got {values.dtype}")
    return _fill_missing(path, name, "names of users", values, rows)


def _labels(path: Path, name: str, values: NDArray[Any], rows: list[str]) -> NDArray[Any]:
    if values.dtype.kind not in "iuU":
        raise InvalidValue(f"column {name!r} of {path} must hold whole numbers or text, got {values.dtype}")
    if values.dtype.kind != "U":
        return values
    _fill_missing(path, name, "classes", values, rows)
    numbers = _floats(values)
    if np.isnan(numbers).all():
        return values
    # One slip of the pen must not make a class of its own.
    wrong = ~(np.abs(numbers) < 2**53) | (numbers != np.floor(numbers))
    if wrong.any():
        raise _wrong_cell(path, name, "whole numbers only, or text only", values, rows, int(wrong.argmax()))
    return numbers.astype(np.int64)


def _floats(values: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers, and NaN for what is none."""
    try:
        return values.astype(np.float64)
    except ValueError:
        return np.array([_float(value) for value in values.tolist()], dtype=np.float64)


def _float(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        return float("nan")


def _fill_missing(path: Path, name: str, what: str, values: NDArray[Any], rows: list[str]) -> NDArray[Any]:
    if values.dtype.kind == "U" and (values == "").any():
        raise _wrong_cell(path, name, what, values, rows, int((values == "").argmax()))
    return values


def _wrong_cell(
    path: Path, name: str, what: str, values: NDArray[Any], rows: list[str], place: int
) -> InvalidValue:
    found = str(values[place])[:40]
    return InvalidValue(f"column {name!r} of {path} must hold {what}, but {rows[place]} has {found!r}")
