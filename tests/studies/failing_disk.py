"""A disk that is full, or that cannot be written any more, from some file operation on."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class FailingDisk:
    """Counts the operations that write, and refuses them all from number ``first`` on, until it is mended.

    A full disk takes half of what is written last, and files can be renamed and removed on it; one that is
    read-only refuses that, too.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: str, first: int) -> None:
        self.failed, self._count, self._first = False, 0, first
        self._full = kind == "full"
        self._code = errno.ENOSPC if self._full else errno.EROFS
        monkeypatch.setattr(os, "mkdir", self._refusing(os.mkdir))
        monkeypatch.setattr(os, "fsync", self._refusing(lambda descriptor: None))  # no test cuts the power
        if not self._full:
            for name in ("replace", "unlink", "truncate", "ftruncate"):
                monkeypatch.setattr(os, name, self._refusing(getattr(os, name)))
        monkeypatch.setattr(os, "open", self._open(os.open))
        monkeypatch.setattr(os, "write", self._write(os.write))

    def _due(self) -> bool:
        self._count += 1
        self.failed = self.failed or self._count > self._first
        return self.failed

    def _error(self) -> OSError:
        return OSError(self._code, os.strerror(self._code))

    def _refusing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if self._due():
                raise self._error()
            return real(*arguments, **options)

        return call

    def _open(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *rest: Any, **options: Any) -> int:
            if flags & WRITING and self._due():
                raise self._error()
            return real(path, flags, *rest, **options)

        return call

    def _write(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(descriptor: int, content: Any) -> int:
            if not self._due():
                return real(descriptor, content)
            if self._full and len(content) > 1:
                return real(descriptor, memoryview(content)[: len(content) // 2])
            raise self._error()

        return call
