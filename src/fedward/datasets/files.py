"""Readers of data files: whatever is wrong with one is an error that names it."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from fedward.base.limited_files import LimitedUnpacking, limited_lines, require_modest_archive
from fedward.base.validate import InvalidValue
from fedward.datasets.directory import MissingFile

_CHUNK = 1 << 20


@contextmanager
def explain_read_errors(path: Path, what: str) -> Iterator[None]:
    """Errors of the file system, and of unpacking, while ``path`` is read as ``what``, in our own words."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFile(f"{path} must be {what}, but there is no such file") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidValue(f"{path} must be a whole gzip file, but unpacking it failed: {error}") from error
    except OSError as error:
        raise InvalidValue(
            f"{path} must be {what}, but reading it failed: {error.strerror or error}"
        ) from error


def open_binary(path: Path) -> BinaryIO:
    """Opens a file, packed (``.gz``) or not; one that unpacks to far more than its size ends in an error."""
    packed = path.suffix == ".gz"
    return cast(BinaryIO, io.BufferedReader(LimitedUnpacking(path), _CHUNK)) if packed else path.open("rb")


def text_lines(path: Path, what: str) -> Iterator[tuple[int, str]]:
    """The number and the text of each line of a UTF-8 file, packed or not.

    Lines end with a line feed and with nothing else, since words may hold the line breaks of other
    alphabets. The last one must end too: where it does not, the file was cut off.
    """
    with explain_read_errors(path, what), open_binary(path) as file:
        for number, line in enumerate(limited_lines(file, path), 1):
            if not line.endswith(b"\n"):
                raise InvalidValue(f"{path} must end with a line break; its last line, {number}, is cut off")
            try:
                yield number, line[:-1].decode("utf8").removesuffix("\r")
            except UnicodeDecodeError as error:
                raise InvalidValue(f"{path} must be UTF-8 text, but line {number} is not") from error


def csv_rows(path: Path, what: str, encoding: str = "utf-8-sig") -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file, each with the number of the line on which it ends; empty lines are no rows.

    The last line must end too: where it does not, the file was cut off, perhaps within a number.
    """
    _check_end(path, what)
    with explain_read_errors(path, what), path.open(encoding=encoding, newline="") as file:
        rows = csv.reader(file, strict=True)
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                raise InvalidValue(
                    f"{path} must be {what}, but line {rows.line_num} is not: {error}"
                ) from error
            except UnicodeDecodeError as error:
                raise InvalidValue(f"{path} must be UTF-8 text, but it is not: {error}") from error
            if row:
                yield rows.line_num, row


def _check_end(path: Path, what: str) -> None:
    with explain_read_errors(path, what), path.open("rb") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) not in (b"\n", b"\r"):
                raise InvalidValue(f"{path} must end with a line break; its last line is cut off")


def is_utf8(path: Path, what: str) -> bool:
    """Whether the whole file is UTF-8 text."""
    decoder = codecs.getincrementaldecoder("utf8")()
    with explain_read_errors(path, what), path.open("rb") as file:
        try:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def read_arrays(path: Path, what: str) -> dict[str, NDArray[Any]]:
    """All arrays of an NPZ archive, or of an NPY file under the name ``array``. Never unpickles.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(Path(folder) / "some.npz", x=np.arange(3))
    ...     read_arrays(Path(folder) / "some.npz", "an archive")["x"].tolist()
    [0, 1, 2]
    """
    with explain_read_errors(path, what), path.open("rb") as file:
        require_modest_archive(file, path)
        try:
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return {"array": found}
            return {name: found[name] for name in found.files}
        except (
            Exception
        ) as error:  # a damaged file makes numpy raise almost anything, tokenize errors included
            raise InvalidValue(f"{path} must be {what}, but reading it failed: {error}") from error
