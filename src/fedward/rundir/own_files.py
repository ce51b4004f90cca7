"""The check that a run directory holds plain files of its owner, before anything in it is read or written.

A link could lead a write to somebody else's file, and a read of a pipe or device may never end.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fedward.base.validate import InvalidValue

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
}
_PLAIN = (stat.S_IFREG, stat.S_IFDIR)


class NotPlain(InvalidValue):
    """Something in a run directory that is no file of its owner: its name, and what it is."""

    def __init__(self, folder: Path, name: str, what: str) -> None:
        super().__init__(
            f"{folder} must hold plain files of its owner, got {name!r}, which is {what}: remove it if you "
            "trust the rest, or choose another directory"
        )
        self.name, self.what = name, what


def require_own_files(folder: Path) -> None:
    """Raises if anything in a run directory is no file or directory, or of another owner than the directory.

    The directory itself may be reached through a link: its path is the user's own choice.
    """
    owner = folder.stat().st_uid
    for name in sorted(os.listdir(folder)):
        try:
            found = os.lstat(folder / name)
        except FileNotFoundError:
            continue  # a process that writes here has just renamed or removed it
        kind = stat.S_IFMT(found.st_mode)
        if kind not in _PLAIN:
            what = _KINDS.get(kind, "no file")
        elif found.st_uid != owner:
            what = f"of another owner (user {found.st_uid}, the directory is of user {owner})"
        else:
            continue
        raise NotPlain(folder, name, what)


def require_own_directory(folder: Path) -> None:
    """Raises if a run directory is not this user's own: whoever owns it could replace what is written."""
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        raise InvalidValue(
            f"{folder} must be a directory of yours (user {os.geteuid()}), got one of user {owner}; choose "
            "another with --out"
        )
    require_own_files(folder)
