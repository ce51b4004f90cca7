"""The files of a run directory and their digests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from fedward.base.validate import InvalidValue

# What an auditor asks for by name; all else goes into one digest.
_MEANINGS = {
    "run.json": "what was run, on which data, computed by what",
    "result.json": "the result",
    "ledger.json": "what was spent: ε follows from it",
    "ledgers.json": "what one training of each variant spends",
    "users.json": "what each user has spent",
    "model.pt": "the model that would be released",
    "rounds.jsonl": "what was measured after each round",
    "telemetry.jsonl": "cohorts and norms: covered by no ε",
    "claims.json": "what was to be claimed, fixed before the trainings",
    "certified.json": "the summary of what is certified",
    "labels.npz": "the true classes of the test examples",
    "curves.npz": "the curves of inference attacks",
}
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
        named = _MEANINGS.get(file.name) or _of_certificate(file.name)
        digest = FileDigest(name=file.name, meaning=named, size=file.stat().st_size, sha256=_sha256(file))
        (found if named else others).append(digest)
    found.sort(
        key=lambda each: list(_MEANINGS).index(each.name) if each.name in _MEANINGS else len(_MEANINGS)
    )
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


def _of_certificate(name: str) -> str:
    if name.startswith("certificate-scores"):
        return "the scores that a certificate was computed from"
    return "a certificate" if name.startswith("certificate") else ""


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with file.open("rb") as opened:
            while chunk := opened.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise InvalidValue(f"{file} cannot be read: {error.strerror or error}") from error
    return digest.hexdigest()
