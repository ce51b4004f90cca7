"""Files in this user's cache directory, believed only if this user wrote them about the same thing.

Each file begins with a digest that is keyed with a secret of this user and covers what the file is about.
Whatever was edited, copied from elsewhere, made by somebody else or put there as a link is as good as not
there: a cache is made again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from fedward.base.durable_files import CannotWrite, remove_leftovers, write_atomically

_KEY = "key"
_DIGEST = 32
LARGEST = 1 << 28
"""Bytes of a file that is kept, or read at all."""


def read_cache(about: bytes) -> bytes | None:
    """What this user stored about it; None if that is nothing, or not to be believed."""
    folder = _folder()
    if folder is None or (key := _read(folder / _KEY)) is None or len(key) != _DIGEST:
        return None
    stored = _read(folder / _name(about))
    if stored is None or not hmac.compare_digest(stored[:_DIGEST], _digest(key, about, stored[_DIGEST:])):
        return None
    return stored[_DIGEST:]


def write_cache(about: bytes, content: bytes) -> bool:
    """Stores something about it for later, and says whether it did: not where nothing can be written."""
    folder = _folder()
    if folder is None or len(content) + _DIGEST > LARGEST:
        return False
    with suppress(CannotWrite, OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(os.stat(folder, follow_symlinks=False)):
            return False
        key = _read(folder / _KEY)
        if key is None or len(key) != _DIGEST:
            key = secrets.token_bytes(_DIGEST)
            _replace(folder / _KEY, key)
        _replace(folder / _name(about), _digest(key, about, content) + content)
        return True
    return False


def remove_cache(about: bytes) -> None:
    """Forgets what is stored about it."""
    if (folder := _folder()) is not None:
        with suppress(CannotWrite, OSError):
            remove_leftovers(folder, _name(about))
            (folder / _name(about)).unlink(missing_ok=True)


def _folder() -> Path | None:
    """The directory of these files, as the XDG rules have it; None for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        # A relative one is to be ignored, say the rules: it would be another in every directory.
        return (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "fedward" / "seen"
    except RuntimeError:
        return None


def _name(about: bytes) -> str:
    return hashlib.blake2b(about, digest_size=16).hexdigest()


def _digest(key: bytes, about: bytes, content: bytes) -> bytes:
    keyed = hashlib.blake2b(len(about).to_bytes(8, "big"), key=key, digest_size=_DIGEST)
    keyed.update(about)
    keyed.update(content)
    return keyed.digest()


def _is_own(found: os.stat_result) -> bool:
    """Whether it is this user's, and nobody else can write it."""
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _read(file: Path) -> bytes | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or not _is_own(found) or found.st_size > LARGEST:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as opened:
            return opened.read(LARGEST)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _replace(file: Path, content: bytes) -> None:
    if os.path.lexists(file) and not stat.S_ISREG(file.lstat().st_mode):
        file.unlink()  # where a link leads to is not ours, and a FIFO would wait for a reader
    remove_leftovers(file.parent, file.name)  # of a process that was killed: they may be large
    write_atomically(file, content, private=True)
