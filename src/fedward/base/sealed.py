"""Tensors and plain values in a file that starts with its own digest: damage is noticed before it is read."""

from __future__ import annotations

import hashlib
import io
from typing import Any

import torch

from fedward.base.validate import InvalidValue


def seal(kind: str, content: Any) -> bytes:
    """The file's bytes: its format, the digest of what follows, and the content.

    >>> sealed = seal("example 1", {"round": 3})
    >>> unseal("example 1", sealed, "file", "make it again")
    {'round': 3}
    >>> unseal("example 1", sealed[:-1], "file", "make it again")
    Traceback (most recent call last):
    fedward.base.validate.InvalidValue: file is damaged or not of the format 'example 1': make it again
    """
    buffer = io.BytesIO()
    buffer.write(_header(kind, b""))
    start = buffer.tell()
    torch.save(content, buffer)
    with buffer.getbuffer() as view, view[start:] as saved:
        view[:start] = _header(kind, saved)
    return buffer.getvalue()


def unseal(kind: str, sealed: bytes, source: str, remedy: str) -> Any:
    """The content that ``seal`` was given; no code in it is run.

    Args:
      kind: the format that it must have.
      sealed: the file's bytes.
      source: the file's name.
      remedy: what to do with a file that is damaged.
    """
    start = len(_header(kind, b""))
    saved = memoryview(sealed)[start:]
    if sealed[:start] == _header(kind, saved):
        try:
            return torch.load(io.BytesIO(saved), weights_only=True, map_location="cpu")
        except Exception:
            pass  # not written by `seal`, whatever its digest says: it shows as any kind of error
    raise InvalidValue(f"{source} is damaged or not of the format {kind!r}: {remedy}")


def _header(kind: str, saved: bytes | memoryview) -> bytes:
    return f"{kind}\n{hashlib.blake2b(saved, digest_size=16).hexdigest()}\n".encode()
