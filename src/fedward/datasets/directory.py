"""The directory of data files, and the error for a file that is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pooch

from fedward.base.validate import InvalidType, InvalidValue

VARIABLE = "FEDWARD_DATA"


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
