"""The version of the code that computed a certificate: libraries, and a digest of the source."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

from fedward.version import __version__


def code_version() -> dict[str, str]:
    """The versions of fedward and of the libraries that bounds come from, and a digest of fedward's source.

    >>> sorted(code_version())
    ['dp_accounting', 'fedward', 'numpy', 'scipy', 'source']
    """
    return {
        "fedward": __version__,
        "source": _source(),
        "dp_accounting": version("dp-accounting"),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
    }


def _source() -> str:
    package = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
