"""The small TOML files of a deployment, read strictly: every key known, every value of its type."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from fedward.base.limited_files import TooLarge, read_text
from fedward.base.validate import InvalidValue, nearest

_PUBLIC = stat.S_IRWXG | stat.S_IRWXO
# Bytes: the table of 100,000 declared users has fewer.
_LONGEST = 4 << 20


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a file."""
    try:
        return tomllib.loads(read_text(path, _LONGEST))
    except FileNotFoundError:
        raise InvalidValue(f"there is no file {path}") from None
    except TooLarge:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{path} cannot be read as text: {error}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"{path} is not valid TOML: {error}") from error


def require_known(content: dict[str, Any], allowed: Collection[str], what: str) -> None:
    """Refuses a key that nobody reads: it was meant to do something."""
    for key in content:
        if key not in allowed:
            raise InvalidValue(
                f"{what}: unknown key {key!r}{nearest(key, allowed)} (allowed: {', '.join(allowed)})"
            )


def require_private(path: Path, what: str) -> None:
    """Refuses a secret that others on this machine may read or write.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     os.chmod(file.name, 0o644)
    ...     try:
    ...         require_private(Path(file.name), "private key")
    ...     except InvalidValue as error:
    ...         print(str(error).replace(file.name, "KEY"))
    private key KEY must be for its owner alone, got mode 644; chmod 600 it, and make a new one if others \
have been able to read it
    """
    if not path.is_file():
        raise InvalidValue(f"{what} {path} must be a file, and there is none")
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & _PUBLIC:
        raise InvalidValue(
            f"{what} {path} must be for its owner alone, got mode {mode:03o}; chmod 600 it, and make a new "
            "one if others have been able to read it"
        )
