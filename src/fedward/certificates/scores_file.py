"""The npz file beside a certificate: arrays in, arrays out, and whether it holds scores or a tally."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.limited_files import require_modest_archive
from fedward.base.randomness import check_draw
from fedward.base.validate import InvalidValue

Arrays = dict[str, NDArray[Any]]

# How npz files begin, as all zip files do.
_ZIP = b"PK"
_OPTIONAL = {"labels", "draw"}


def to_bytes(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The content of an npz file. The same arrays give the same bytes."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def from_bytes(content: bytes) -> Arrays:
    """The arrays that ``to_bytes`` wrote; nothing in the file is run."""
    if not content.startswith(_ZIP):
        raise InvalidValue("stored scores must be an npz file, got a file of another kind")
    require_modest_archive(io.BytesIO(content), "stored scores")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception as error:
        # Damage shows as anything: zlib.error, BadZipFile, TokenError, NotImplementedError, ...
        # What numpy says of objects is how to run what is in the file, which nobody should.
        why = "got one with arrays of objects" if "pickle" in str(error) else f"got a damaged one: {error}"
        raise InvalidValue(f"stored scores must be an npz file of numbers, {why}") from error


def require(arrays: Arrays, names: tuple[str, ...]) -> None:
    """Refuses other arrays than these; ``labels`` and ``draw`` may be missing."""
    if not set(names) - _OPTIONAL <= arrays.keys() <= set(names):
        raise InvalidValue(
            f"stored scores must hold {', '.join(names)}, got {', '.join(arrays) or 'nothing'}"
        )


def optional(labels: NDArray[np.int64] | None, draw: str) -> Arrays:
    """What a file holds only where it is known: files without are what they always were."""
    return ({} if labels is None else {"labels": labels}) | ({"draw": np.array(draw)} if draw else {})


def draw_of(arrays: Arrays) -> str:
    """The draw of stored replicas; empty for those of older versions, which knew of none."""
    return check_draw(arrays["draw"].tolist()) if "draw" in arrays else ""


def digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Changes whenever a value, a type or a shape changes."""
    found = hashlib.blake2b(digest_size=16)
    for name, array in arrays.items():
        found.update(f"{name}{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def seed_of(value: Any) -> int:
    """A seed from its text: it may have more digits than any integer of numpy."""
    if not (isinstance(value, str) and value.isascii() and value.isdigit()):
        raise InvalidValue(f"stored seed must be a whole number, got {value!r}")
    return int(value)
