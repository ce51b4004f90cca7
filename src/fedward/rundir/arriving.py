"""Runs that come from elsewhere: a whole directory, or what was trained for one that is here already."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from fedward.base.durable_files import explain_write_errors, make_directory, sync_directory, write_atomically
from fedward.base.validate import InvalidValue
from fedward.privacy import ledger_file, user_ledgers_file
from fedward.rundir.run_files import Write
from fedward.rundir.store import RunDirectory

Files = Mapping[str, tuple[bytes, bool]]
"""The content of each file, and whether it is for its owner alone."""

_OWN = ("run.json", "digests.jsonl")
"""What is written here and nowhere else."""

_ORDER = (
    *("telemetry.jsonl", "rounds.jsonl", "checkpoint.pt", "model.pt"),
    *("users.json", "papers-ledger.json", "ledger.json", "result.json"),
)


def read_files(path: Path) -> dict[str, tuple[bytes, bool]]:
    """All files of a run directory."""
    return {
        file.name: (file.read_bytes(), file.stat().st_mode & 0o077 == 0)
        for file in sorted(path.iterdir())
        if file.is_file() and file.name != ".lock"
    }


def finish_elsewhere(place: RunDirectory, files: Files) -> None:
    """Takes the files of a training that was reserved here, all of it, and finished elsewhere.

    They come in an order that a run can go on from, killed in between: the state after what rounds say, the
    result last.
    Raises if it has spent anything else than what is reserved here.
    """
    content = {name: each for name, each in files.items() if name not in _OWN}
    _require_as_reserved(place, content)
    order = sorted(content, key=lambda name: _ORDER.index(name) if name in _ORDER else 0)
    place.files.change(
        *(Write(name=name, content=content[name][0], private=content[name][1]) for name in order)
    )


def _require_as_reserved(place: RunDirectory, files: Files) -> None:
    ledger, users = ledger_file.loads(files["ledger.json"][0].decode())[0], place.user_ledgers()
    if ledger != place.ledger().settled():
        raise InvalidValue(f"{place.path} must come back with what was reserved for it, got another ledger")
    there = files.get("users.json")
    if (there is None) != (users is None) or (
        users is not None
        and there is not None
        and user_ledgers_file.dumps(users.settled()).encode() != there[0]
    ):
        raise InvalidValue(f"{place.path} must come back with what was reserved for its users, got others")


def take_in(to: Path, files: Files) -> None:
    """Makes a run directory of its files, in one step that a kill cannot split."""
    arriving = to.parent / f".{to.name}.arriving"
    with explain_write_errors(to):
        shutil.rmtree(arriving, ignore_errors=True)
        make_directory(arriving)
        # What is not whole has no run.json, and so is no run.
        for name, (content, private) in sorted(files.items(), key=lambda file: file[0] == "run.json"):
            write_atomically(arriving / name, content, private=private)
        os.rename(arriving, to)
        sync_directory(to.parent)
