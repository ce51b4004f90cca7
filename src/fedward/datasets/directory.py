"""The directories of data files, and the error for a file that is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pooch

from fedward.base.validate import InvalidType, InvalidValue

VARIABLE = "FEDWARD_DATA"
SYSTEM = Path("/usr/share/datasets")
"""The folder of data sets that packages of Debian install: looked into if nobody named a directory."""


class MissingFile(InvalidValue, FileNotFoundError):
    """A data file that is not where it should be."""


def data_directory(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """The directory of all data sets: ``data_dir``, else ``$FEDWARD_DATA``, else this user's cache.

    >>> data_directory("some/where").as_posix()
    'some/where'
    """
    if data_dir is None:
        # A variable that is set but empty would otherwise mean the current directory.
        data_dir = os.environ.get(VARIABLE) or pooch.os_cache("fedward")
    if not isinstance(data_dir, (str, os.PathLike)):
        raise InvalidType(f"data directory must be a path, got {data_dir!r}")
    if not os.fspath(data_dir):
        raise InvalidValue("data directory must be a path, got ''")
    return Path(data_dir).expanduser()


def require_data_directory(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """``data_directory``, refused if somebody named it and it is not there: it is never made.

    Only this user's own cache may be missing, and a download makes it.

    >>> require_data_directory("no/such/place")
    Traceback (most recent call last):
    ...
    fedward.datasets.directory.MissingFile: data directory must be there, but there is no directory \
no/such/place; it is never made by fedward: make it and put the files there, or name another by --data or \
FEDWARD_DATA
    """
    directory = data_directory(data_dir)
    if is_named(data_dir) and not directory.is_dir():
        where = "" if data_dir is not None else f" ({VARIABLE} says so)"
        raise MissingFile(
            f"data directory must be there, but there is no directory {directory}{where}; "
            "it is never made by fedward: make it and put the files there, or name another by --data or "
            f"{VARIABLE}"
        )
    return directory


def is_named(data_dir: str | os.PathLike[str] | None) -> bool:
    """Whether somebody said where data lie, by the argument or by the variable."""
    return data_dir is not None or bool(os.environ.get(VARIABLE))
