"""Tables from files: CSV, Parquet and NPZ."""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.limited_files import TooLarge, most_unpacked, size_text
from fedward.base.validate import InvalidValue
from fedward.datasets.columns import Table, Wanted, table_of
from fedward.datasets.federate import scale_to_unit
from fedward.datasets.files import csv_rows, read_arrays


def read_csv(path: Path, wanted: Wanted) -> Table:
    """A CSV file with a header, in UTF-8.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "some.csv"
    ...     _ = path.write_text("user,age,label\\nann,3,0\\nbob,4,1\\n")
    ...     table = read_csv(path, Wanted(user="user", label="label", features=None, by_user=True))
    >>> table.x.tolist(), table.y.tolist(), table.users.tolist()
    ([[3.0], [4.0]], [0, 1], ['ann', 'bob'])
    """
    rows = csv_rows(path, "a CSV file")
    _, header = next(rows, (0, []))
    if len(set(header)) < len(header):
        raise InvalidValue(f"{path} must name every column once, got {', '.join(header)}")
    cells: list[list[str]] = [[] for _ in header]
    lines = array("q")
    for line, row in rows:
        if len(row) != len(header):
            raise InvalidValue(f"{path} must hold {len(header)} columns, but line {line} has {len(row)}")
        lines.append(line)
        for column, cell in zip(cells, row, strict=True):
            column.append(cell)
    columns = {name: _texts(path, name, cell) for name, cell in zip(header, cells, strict=True)}
    return table_of(path, columns, wanted, [f"line {line}" for line in lines])


def read_parquet(path: Path, wanted: Wanted) -> Table:
    """A Parquet file of plain columns; it needs pyarrow."""
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise InvalidValue("reading Parquet needs pyarrow: pip install 'fedward[parquet]'") from error
    try:
        file = parquet.ParquetFile(path)
        _require_modest(path, file.metadata)
        # Packed, a text stands there once for all rows that have it.
        texts = [each.name for each in file.schema_arrow if str(each.type) in ("string", "large_string")]
        content = parquet.ParquetFile(path, read_dictionary=texts).read()
        columns = {name: _from_arrow(path, name, content.column(name)) for name in content.column_names}
    except InvalidValue:
        raise
    except Exception as error:  # a damaged file makes pyarrow raise almost anything
        raise InvalidValue(f"{path} must be a whole Parquet file: {error}") from error
    return table_of(path, columns, wanted, [f"row {row}" for row in range(len(content))])


def read_npz(path: Path, wanted: Wanted) -> Table:
    """The arrays x, y, users and, if they are there, x_test and y_test; it has no columns to choose."""
    if wanted.features is not None:
        raise InvalidValue(f"features must be left out with an NPZ file, got {', '.join(wanted.features)}")
    arrays = read_arrays(path, "an archive of arrays")
    needed = ["x", "y", *(["users"] if wanted.by_user else [])]
    if {"x_test", "y_test"} & arrays.keys():
        needed += ["x_test", "y_test"]
    for name in needed:
        if name not in arrays:
            raise InvalidValue(f"{path} must hold the arrays {', '.join(needed)}, but {name} is missing")
    for name in [name for name in needed if not name.startswith("x")]:
        _check_beside(path, arrays, name, "x_test" if name == "y_test" else "x")
    test = (_bytes_scaled(arrays["x_test"]), arrays["y_test"]) if "x_test" in needed else None
    users = arrays["users"] if wanted.by_user else None
    return Table(x=_bytes_scaled(arrays["x"]), y=arrays["y"], users=users, test=test)


def _check_beside(path: Path, arrays: dict[str, NDArray[Any]], name: str, inputs: str) -> None:
    values, x = arrays[name], arrays[inputs]
    if x.ndim == 0 or not len(x):
        raise InvalidValue(f"{inputs} of {path} must hold at least one example, got shape {x.shape}")
    if values.shape != x.shape[:1] or values.dtype.kind not in "iuU":
        raise InvalidValue(
            f"{name} of {path} must hold a whole number or a text for each of {len(x)} examples, "
            f"got {values.dtype} of shape {values.shape}"
        )


def _bytes_scaled(x: NDArray[Any]) -> NDArray[Any]:
    return scale_to_unit(x) if x.dtype == np.uint8 else x


def _require_modest(path: Path, about: Any) -> None:
    """Refuses a file whose columns hold far more values than its size is reason for."""
    groups = (about.row_group(place) for place in range(about.num_row_groups))
    values = sum(group.column(place).num_values for group in groups for place in range(group.num_columns))
    _require_at_most(path, 8 * values, f"{values:,} values")


def _from_arrow(path: Path, name: str, column: Any) -> NDArray[Any]:
    # Texts are read as numbers of a list; where one is missing numpy would make a text of that.
    lists = column.null_count and str(column.type).startswith("dictionary")
    values = np.array(column.to_pylist(), dtype=object) if lists else column.to_numpy()
    # Text comes as objects; where some is missing it stays objects, and the cell is refused.
    if values.dtype == object and all(isinstance(value, str) for value in values):
        return _texts(path, name, values)
    return np.asarray(values)


def _texts(path: Path, name: str, cells: Sequence[str] | NDArray[Any]) -> NDArray[Any]:
    """A column of texts, each of which takes the room of the longest."""
    longest = max(map(len, cells), default=0)
    _require_at_most(path, 4 * longest * len(cells), f"{len(cells):,} of up to {longest:,} letters in {name}")
    return np.array(cells, dtype=str)


def _require_at_most(path: Path, size: int, what: str) -> None:
    if size > (most := most_unpacked(path.stat().st_size)):
        raise TooLarge(f"{path} must come to at most {size_text(most)}, got {size_text(size)}: {what}")
