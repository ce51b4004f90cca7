"""Downloads, each with the checksums of the official file. Nothing else here uses the network."""

from __future__ import annotations

import gzip
import os
import secrets
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pooch

from fedward.base.validate import InvalidValue
from fedward.datasets.directory import MissingFile
from fedward.datasets.first_seen import remember, sha256_of

# Of a member that is missing, and of an archive that was cut off or changed.
_DAMAGED = (KeyError, tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError)

_Read = Callable[[str], IO[bytes]]


@contextmanager
def attempt(
    folder: Path, title: str, files: str, source: str, looked_in: Sequence[Path] = ()
) -> Iterator[None]:
    """Whatever goes wrong with a download becomes the error that says which file to put where.

    A failure leaves no folder behind that was made for it.

    Args:
      folder: where the files shall lie.
      title: how people call the data set.
      files: what is missing.
      source: where it can be had.
      looked_in: all places that were searched, if there are more than ``folder``.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        yield
    except (OSError, ValueError) as error:  # no network, no permission, wrong checksum
        for path in made:
            with suppress(OSError):  # it was not made after all, or holds a file that did come
                path.rmdir()
        looked = f" Looked in {', '.join(map(str, looked_in))}." if looked_in else ""
        raise MissingFile(
            f"{folder} must hold the {title} files; put {files} there, from {source}.{looked} "
            f"Downloading them failed: {error}"
        ) from error


def fetch(url: str, md5: str, folder: Path, name: str, *, sha256: str | None = None) -> Path:
    """One file, downloaded unless it is there, and checked in any case.

    One that is there and is another is left alone: it is somebody's, and would be written over. An MD5 finds
    damage, but two files with the same one can be made; nobody can do so with a SHA-256.
    """
    file = folder / name
    present = os.path.isfile(file)
    if present and pooch.file_hash(str(file), alg="md5") != md5:
        raise InvalidValue(f"{file} must have the checksum {md5} of the official file, got another file")
    pooch.retrieve(url, known_hash=f"md5:{md5}", fname=name, path=folder)
    if sha256 is not None and sha256_of(file) != sha256:
        if not present:
            file.unlink()
        raise InvalidValue(
            f"{file} must have the SHA-256 {sha256} of the official file, got one that has only its MD5"
        )
    return file


def fetch_packed(
    url: str, md5: Mapping[str, str], sha256: Mapping[str, str], folder: Path, names: list[str]
) -> None:
    """Some of the files below an address: packed (``.gz``), and checked against the checksums of each."""
    for name in names:
        remember([fetch(f"{url}{name}.gz", md5[name], folder, f"{name}.gz", sha256=sha256[name])])


def fetch_archive(
    url: str, md5: str, folder: Path, members: Mapping[str, str], *, sha256: str | None = None
) -> None:
    """Takes some members, and no others, out of an archive.

    An archive of that name that lies in ``folder`` is used and left there; one that had to be downloaded is
    removed. Names inside an archive never decide where a file is written.

    Args:
      url: of a ``.tar.gz`` or ``.zip`` file.
      md5: its checksum.
      folder: where the members go.
      members: the name of each inside the archive, and its name in ``folder``.
      sha256: its other checksum, where it is known.
    """
    name = url.rpartition("/")[2]
    present = os.path.isfile(folder / name)
    archive = fetch(url, md5, folder, name, sha256=sha256)
    unpack(archive, folder, members)
    remember([folder / member for member in members.values()])
    if not present:
        archive.unlink()


def unpack(archive: Path, folder: Path, members: Mapping[str, str]) -> None:
    """Writes members of an archive to files of ``folder``: each is there as a whole or not at all."""
    try:
        with _open_url(archive) as read:
            for inside, name in members.items():
                _write(read(inside), folder / name)
    except _DAMAGED as error:
        raise InvalidValue(f"{archive} must be a whole archive with {', '.join(members)}: {error}") from error


@contextmanager
def _open_url(archive: Path) -> Iterator[_Read]:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            yield packed.open
    else:
        with tarfile.open(archive, "r:gz") as file:
            yield lambda name: _regular(file, name)


def _regular(file: tarfile.TarFile, name: str) -> IO[bytes]:
    # A link in an archive could lead anywhere.
    member = file.getmember(name)
    content = file.extractfile(member) if member.isreg() else None
    if content is None:
        raise KeyError(f"{name} is not a plain file")
    return content


def _write(content: IO[bytes], path: Path) -> None:
    temporary = path.with_name(f".{path.name}.fedward-{secrets.token_hex(8)}.part")
    with content, temporary.open("xb") as file:  # never one that is there
        try:
            shutil.copyfileobj(content, file)
            file.close()
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
