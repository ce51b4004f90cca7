"""The files of a run directory and their digests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fedward.base.validate import InvalidValue
from fedward.rundir.digest_log import NAME
from fedward.rundir.run_file_names import KINDS, kind_of_file

_DIGESTS = "what every file of the run is to hold, by its digest"
_SIGNATURE = "a signature: fedward verify --key says whose"
_CHUNK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class FileDigest:
    """A file, or several as one: what it holds, how large it is, and its SHA-256."""

    name: str
    meaning: str
    size: int
    sha256: str


def file_digests(folder: Path) -> list[FileDigest]:
    """Every file of a run directory; those that nobody asks for by name stand together at the end."""
    found: list[FileDigest] = []
    others: list[FileDigest] = []
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    for file in files:
        kind = kind_of_file(file.name)
        named = kind.holds if kind is not None and kind.named else _of_log(file.name)
        digest = FileDigest(name=file.name, meaning=named, size=file.stat().st_size, sha256=_sha256(file))
        (found if named else others).append(digest)
    # What an auditor asks for by name, in the order of the table; all else goes into one digest.
    meanings = [*(kind.holds for kind in KINDS.values()), _DIGESTS, _SIGNATURE]
    found.sort(key=lambda each: (meanings.index(each.meaning), each.name))
    if not others:
        return found
    listing = "".join(f"{each.sha256}  {each.name}\n" for each in others)
    together = FileDigest(
        name=others[0].name if len(others) == 1 else f"{len(others)} other files",
        meaning="checkpoints, scores and pictures; the digest is of the lines 'SHA-256  NAME' of all of them",
        size=sum(each.size for each in others),
        sha256=hashlib.sha256(listing.encode()).hexdigest(),
    )
    return [*found, together]


def _of_log(name: str) -> str:
    if name == NAME:
        return _DIGESTS
    return _SIGNATURE if name.startswith("signature-") else ""


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with file.open("rb") as opened:
            while chunk := opened.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise InvalidValue(f"{file} cannot be read: {error.strerror or error}") from error
    return digest.hexdigest()
