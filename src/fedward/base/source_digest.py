"""A digest of fedward's own source: two machines may have one version of it and not the same code."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def source_digest() -> str:
    """Of every Python file of the package, with its place."""
    package = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(package).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
