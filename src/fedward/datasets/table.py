"""A table with a column that names the user as a federation: CSV, Parquet or NPZ."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.randomness import stream
from fedward.base.validate import InvalidType, InvalidValue, open_unit
from fedward.core.federation import Federation
from fedward.datasets.columns import Table, Wanted
from fedward.datasets.directory import MissingFile, require_data_directory
from fedward.datasets.federate import federate
from fedward.datasets.held_out import choose_held_out
from fedward.datasets.partition import Split
from fedward.datasets.table_files import read_csv, read_npz, read_parquet

USERS = 10
FORMATS: dict[str, Callable[[Path, Wanted], Table]] = {
    ".csv": read_csv,
    ".npz": read_npz,
    ".parquet": read_parquet,
}

MOST_CLASSES = 1_000_000
"""Numbers beyond this are no classes but something else, and no model could be made for them."""


def load(
    *,
    file: str,
    seed: int,
    data_dir: str | os.PathLike[str] | None = None,
    user: str = "user",
    label: str = "label",
    features: Sequence[str] | None = None,
    users: int | None = None,
    split: str = "natural",
    alpha: float | None = None,
    classes_per_user: int | None = None,
    test_file: str | None = None,
    test_share: float = 0.2,
) -> Federation:
    """Rows of numbers in ``[n, features]``, or the arrays of an NPZ file in any shape.

    CSV (UTF-8, with a header) and Parquet have one row an example. NPZ has the arrays ``x``, ``y`` and
    ``users``, and optionally ``x_test`` and ``y_test``. Nothing is ever unpickled. Rules:

    - Labels that are whole numbers stay; labels that are text are numbered in alphabetical order; a mixture
      is an error.
    - A cell that is empty, is not a number or is not finite is an error that names it.
    - ``x`` of whole numbers from 0 to 255 in one byte is divided by 255; other whole numbers are tokens.
    - Test rows are those of ``test_file`` or ``x_test``, or else a share: of the users with the split
      ``natural``, of the rows otherwise, the same for every seed.

    ::

        federation = table.load(file="patients.csv", user="hospital", label="ill", seed=0)

    Args:
      file: the file, from DIR; its ending says what it is.
      seed: decides who gets which row, or which users take part.
      user: the column that names the user; not needed unless the split is ``natural``.
      label: the column with the class.
      features: the columns that are used, in this order; all others if not given.
      users: how many users; 10 if not given, or all with the split ``natural``.
      split: ``natural``, ``iid``, ``dirichlet``, ``label_skew`` or ``quantity_skew``.
      test_file: a file of test rows with the same columns, from DIR; its users do not matter.
      test_share: what is held out for testing if there is none.
    """
    how = Split.of(split, users, alpha, classes_per_user, usual_users=USERS)
    open_unit("test share", test_share)
    _check_columns(user, label, features)
    rng = stream(seed, "partition")
    root = require_data_directory(data_dir)

    natural = how.name == "natural"
    wanted = Wanted(
        user=user,
        label=label,
        features=None if features is None else tuple(features),
        by_user=natural,
    )
    table = _read(root / file, wanted)
    x, y, ids = table.x, table.y, table.users
    if test_file is not None:
        # The columns of the first file in the same order, whatever else the second has.
        other = _read(root / test_file, replace(wanted, features=table.features, by_user=False))
        x_test, y_test = other.x, other.y
    elif table.test is not None:
        x_test, y_test = table.test
    else:
        tested = _mask_held_out(ids, len(y), test_share)
        x_test, y_test, x, y = x[tested], y[tested], x[~tested], y[~tested]
        ids = None if ids is None else ids[~tested]
    num_classes, y, y_test = _number(root / file, y, y_test)
    return federate((x, y), (x_test, y_test), how, rng, num_classes=num_classes, ids=ids)


def _read(path: Path, wanted: Wanted) -> Table:
    read = FORMATS.get(path.suffix.lower())
    if read is None:
        raise InvalidValue(f"table must be a file that ends with {', '.join(FORMATS)}, got {path}")
    if not os.path.isfile(path):
        raise MissingFile(f"{path} must be a table, but there is no such file; put it there")
    return read(path, wanted)


def _mask_held_out(ids: NDArray[Any] | None, rows: int, share: float) -> NDArray[np.bool_]:
    if ids is None:
        return choose_held_out(np.arange(rows), share, "rows")
    names = np.unique(ids)
    return np.isin(ids, names[choose_held_out(names, share)])


def _number(
    path: Path, y: NDArray[Any], y_test: NDArray[Any]
) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
    """How many classes there are, and labels as numbers."""
    if (y.dtype.kind == "U") != (y_test.dtype.kind == "U"):
        raise InvalidValue(f"labels of {path} and of its test rows must both be numbers or both be text")
    if y.dtype.kind == "U":
        names = np.unique(np.concatenate([y, y_test]))
        return max(2, len(names)), np.searchsorted(names, y), np.searchsorted(names, y_test)
    y, y_test = y.astype(np.int64), y_test.astype(np.int64)
    both = np.concatenate([y, y_test])
    if both.min() < 0 or both.max() >= MOST_CLASSES:
        wrong = both.min() if both.min() < 0 else both.max()
        raise InvalidValue(f"labels of {path} must be from 0 to {MOST_CLASSES - 1}, got {wrong}")
    return max(2, int(both.max()) + 1), y, y_test


def _check_columns(user: str, label: str, features: Sequence[str] | None) -> None:
    for what, column in (("user", user), ("label", label)):
        if not isinstance(column, str):
            raise InvalidType(f"{what} must be the name of a column, got {column!r}")
    if features is None:
        return
    if isinstance(features, str) or not isinstance(features, Sequence) or not len(features):
        raise InvalidType(f"features must be a list of columns, got {features!r}")
    if len(set(features)) != len(features) or {user, label} & set(features):
        raise InvalidValue(
            f"features must be different columns, without user and label, got {', '.join(features)}"
        )
