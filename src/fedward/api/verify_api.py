"""``fedward.verify``, ``fedward.sign``, ``fedward.new_key``: whether runs are as they were, and by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fedward.api.source import PathLike
from fedward.base.validate import InvalidValue
from fedward.certificates.certified import Certified
from fedward.reports.terminal import certified_table
from fedward.rundir.place import kind_of
from fedward.rundir.signature import (
    CheckedSignature,
    KeyPair,
    make_keys,
    read_private_key,
    read_public_key,
    sign_run,
)
from fedward.rundir.store import RunDirectory, open_run
from fedward.rundir.sweep_record import sweep_has_digests
from fedward.studies.verification.verification import Verification
from fedward.studies.verification.verified_path import Verifier


def verify(
    path: PathLike, *, data: PathLike | None = None, key: PathLike | None = None, renew: bool = False
) -> Verification:
    """Computes again whatever can be of a run, a sweep, or all runs in a directory: ``fedward verify``.

    Nothing is changed, unless digests are renewed. What is damaged is named with its file and what that
    means; what was computed again, and what rests on trust, is listed.

    Args:
      path: the directory of a run or sweep, one of many runs, or a file of pre-trained weights.
      data: where data sets lie; else ``FEDWARD_DATA``. With its data the last model is measured again.
      key: the public key of whoever should have signed it.
      renew: take the digests of a run or sweep anew, of its files as they are now, before all else.
    """
    return verify_all([path], data=data, key=key, renew=renew)[0]


def verify_all(
    paths: Sequence[PathLike],
    *,
    data: PathLike | None = None,
    key: PathLike | None = None,
    renew: bool = False,
) -> list[Verification]:
    """Verifies several runs: what is wrong with one hides no other."""
    public = None if key is None else read_public_key(Path(key))
    for path in paths if renew else ():
        renew_digests(Path(path))
    verifier = Verifier(None if data is None else Path(data), public, _summarise)
    if len(paths) == 1:
        return [verifier.verify(Path(paths[0]))]
    return [verifier.guarded(Path(path)) for path in paths]


def sign(path: PathLike, *, key: PathLike) -> CheckedSignature:
    """Signs a run or sweep as it is now: ``fedward sign``.

    The signature covers the digests of all its files, ledgers and certificates among them, and of a sweep
    all its trainings. It is void when anything changes. A damaged run is refused.

    Args:
      path: the directory of the run or sweep.
      key: the file of the private key.
    """
    folder, private = Path(path), read_private_key(Path(key))
    has_digests = _has_digests(folder)
    damage = Verifier(None, None, _summarise).verify(folder).all_damage
    if damage:
        raise InvalidValue(f"a damaged run must not be signed: {damage[0]}; {damage[0].remedy}")
    with open_run(folder) as directory:
        return sign_run(directory.files, private, has_digests=has_digests)


def new_key(file: PathLike) -> KeyPair:
    """Makes a key to sign with: ``fedward sign --new-key``.

    Args:
      file: of the private key, for its owner alone; the public key is beside it, in FILE.pub.
    """
    return make_keys(Path(file))


def renew_digests(folder: Path) -> None:
    """Takes the digests of a directory anew, of its files as they are now, whatever they were."""
    _has_digests(folder, damaged=True)
    with open_run(folder) as directory:
        directory.files.renew()


def _has_digests(folder: Path, *, damaged: bool = False) -> bool:
    """Whether a run or sweep says that it has digests; refuses what is neither."""
    if not folder.is_dir() or not kind_of(folder):
        raise InvalidValue(f"{folder} must be the directory of a run or sweep, got one of neither")
    if damaged:
        return True
    if (folder / "run.json").is_file():
        return RunDirectory(folder).manifest().digests > 0
    return sweep_has_digests(folder)


def _summarise(certified: Mapping[str, Certified]) -> dict[str, Any]:
    return {name: certified_table.record(each) for name, each in certified.items()}
