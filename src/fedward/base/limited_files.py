"""Files read only as far as there is reason to: few bytes of a stranger's can unpack to all memory.

What is limited is said before anything of that size is read. Files that are not packed are as large as they
look, but one with holes can say any size: texts, lines and archives have limits of their own.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from fedward.base.validate import InvalidValue

MIB = 1 << 20
LONGEST_TEXT = 128 * MIB
"""Bytes of a JSON text: a certificate of 500,000 test examples has fewer."""
LONGEST_LINE = 32 * MIB
"""Bytes of one line."""

# What an archive may unpack to: so much in any case, and so many times its own size.
_UNPACKED, _TIMES = 256 * MIB, 100
# Above it a file must end as archives do before it is read.
_SMALL = 64 * MIB
_LONGEST_DIRECTORY = 8 * MIB
_TAIL = 1 << 16
_END, _LOCATOR, _END_64 = b"PK\x05\x06", b"PK\x06\x07", b"PK\x06\x06"


class TooLarge(InvalidValue):
    """A file, or what is packed in it, that is larger than there is reason for."""


def size_text(size: int) -> str:
    """A size for people.

    >>> size_text(3 << 30), size_text(5 << 20), size_text(12)
    ('3,072 MB', '5 MB', '12 bytes')
    """
    return f"{size // MIB:,} MB" if size >= MIB else f"{size:,} bytes"


def read_limited(path: Path, most: int = LONGEST_TEXT) -> bytes:
    """The content of a file of at most so many bytes; errors of the system are as they come."""
    with path.open("rb") as file:
        _require_at_most(path, os.fstat(file.fileno()).st_size, most)
        content = file.read(most + 1)  # it may be a pipe, which says no size, or grow
    _require_at_most(path, len(content), most)
    return content


def read_text(path: Path, most: int = LONGEST_TEXT) -> str:
    """The text of such a file, in UTF-8 and with its line ends as they are in Python."""
    return io.TextIOWrapper(io.BytesIO(read_limited(path, most)), encoding="utf8").read()


def read_plain(path: Path) -> bytes:
    """The content of a file that somebody else named: a pipe, which may never end, or a device is refused."""
    # Opening a pipe waits for somebody who writes to it.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidValue(f"{path} must be a plain file, got something else")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


def unpack_gzip(content: bytes, what: str, most: int = LONGEST_TEXT) -> bytes:
    """What is packed in it, if it is not more than so many bytes.

    >>> unpack_gzip(gzip.compress(bytes(100)), "example.gz", most=99)
    Traceback (most recent call last):
    ...
    fedward.base.limited_files.TooLarge: example.gz must unpack to at most 99 bytes, got more
    """
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
        unpacked = file.read(most + 1)
    if len(unpacked) > most:
        raise TooLarge(f"{what} must unpack to at most {size_text(most)}, got more")
    return unpacked


class LimitedUnpacking(io.RawIOBase):
    """The unpacked bytes of a gzip file, which end with an error beyond what its size is reason for."""

    def __init__(self, path: Path) -> None:
        self._file = gzip.open(path)  # noqa: SIM115 - closed by close()
        self._what, self._most = path, most_unpacked(path.stat().st_size)
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        found = self._file.readinto(buffer)
        self._read += found
        if self._read > self._most:
            most = size_text(self._most)
            raise TooLarge(f"{self._what} must unpack to at most {most}, got more; it may lie there unpacked")
        return found

    def close(self) -> None:
        self._file.close()
        super().close()


def limited_lines(file: IO[bytes], what: str | Path) -> Iterator[bytes]:
    """The lines of a file, each with its end; none may be longer than any that is ever written."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise TooLarge(f"{what} must hold lines of at most {size_text(LONGEST_LINE)}, got a longer one")
        yield line


def require_modest_archive(file: IO[bytes], what: str | Path, *, times: int = _TIMES) -> None:
    """Refuses a zip archive (npz, pt) whose members say that they unpack to much more than its size.

    No more than what they say is ever unpacked. What is no archive, or a damaged one, is left to its reader,
    unless it is so large that reading it to find that out would be the harm.

    Args:
      file: the archive, opened; left at its beginning.
      what: its name, for errors.
      times: how many times its size it may unpack to.
    """
    size = file.seek(0, os.SEEK_END)
    try:
        directory = _directory_size(file, size)
        if directory is None:
            if size > _SMALL:
                raise TooLarge(f"{what} must be an archive, got {size_text(size)} of something else")
            return
        if directory > size:
            return  # damage, which the reader names by its own words
        if directory > _LONGEST_DIRECTORY:
            raise TooLarge(f"{what} must have a list of members of at most {size_text(_LONGEST_DIRECTORY)}")
        with zipfile.ZipFile(file) as archive:
            unpacked = sum(each.file_size for each in archive.infolist())
    except (zipfile.BadZipFile, struct.error, OSError, ValueError, NotImplementedError) as error:
        if isinstance(error, InvalidValue):
            raise
        return
    finally:
        file.seek(0)
    if unpacked > (most := most_unpacked(size, times)):
        raise TooLarge(
            f"{what} must unpack to at most {size_text(most)}, {times} times its size, got "
            f"{size_text(unpacked)}; one that is not packed may have any size"
        )


def read_archive(path: Path, *, times: int = 2) -> bytes:
    """The content of a file of tensors, which nobody packs, if it is one that memory can hold."""
    with path.open("rb") as file:
        _require_at_most(path, os.fstat(file.fileno()).st_size, _memory())
        require_modest_archive(file, path, times=times)
        return file.read()


def _directory_size(file: IO[bytes], size: int) -> int | None:
    """Bytes of the list of members, as the end of the archive says; None where it does not end like one."""
    start = max(0, size - _TAIL - 22)
    file.seek(start)
    tail = file.read()
    place = tail.rfind(_END)
    if place < 0:
        return None
    (found,) = struct.unpack_from("<I", tail, place + 12)
    locator = place - 20
    if locator >= 0 and tail[locator : locator + 4] == _LOCATOR:
        # Its own place is given without what lies before the archive: it lies right before the locator.
        large = tail.rfind(_END_64, 0, locator)
        if large >= 0:
            (found,) = struct.unpack_from("<Q", tail, large + 40)
    return int(found)


def most_unpacked(size: int, times: int = _TIMES) -> int:
    """Bytes that a file of this size may come to."""
    return _UNPACKED + times * size


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _require_at_most(path: Path, size: int, most: int) -> None:
    if size > most:
        raise TooLarge(f"{path} must be of at most {size_text(most)}, got {size_text(size)}")
