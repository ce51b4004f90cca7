"""A run on disk: written atomically, resumed after a kill, locked against a second process.

run.json          what is run: the experiment, digests of its data, versions; where, when and by which command
ledger.json       what has been spent; a round is in it before any of its jobs runs
users.json        what each user has spent, where users protect themselves
checkpoint.pt     the state after the last finished round
rounds.jsonl      what was measured of the released models
telemetry.jsonl   cohorts, norms, rejected rows: not covered by any ε; absent with system entropy
digests.jsonl     what every file here is to hold: written before it is
model.pt          the final model's state_dict
papers-ledger.json  what a paper takes the training to have spent, where that is something else
result.json       the summary, once the run is finished; every ε in it follows from the ledgers
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from fedward.base import json_lines as lines
from fedward.base.durable_files import remove_leftovers
from fedward.base.limited_files import read_archive, read_text
from fedward.base.locking import hold_lock
from fedward.base.strict_json import require_modest
from fedward.base.validate import InvalidValue
from fedward.core.types import RoundLog, ServerState
from fedward.privacy import Guarantee, Ledger, ledger_file, user_ledgers_file
from fedward.privacy.user_ledgers import UserLedgers
from fedward.rundir import checkpoint
from fedward.rundir.computed_by import changes, environment
from fedward.rundir.damage import Digests, require_undamaged
from fedward.rundir.digest_log import VERSION as DIGESTS
from fedward.rundir.file_record import FileRecord
from fedward.rundir.manifest import ComputedBy, Manifest
from fedward.rundir.more_rounds import with_more_rounds
from fedward.rundir.own_files import require_own_directory, require_own_files
from fedward.rundir.place import require_no_run
from fedward.rundir.results import (
    REMEDY,
    Measured,
    MeasuredRound,
    ReplicasResult,
    Result,
    TelemetryRound,
    TrainingResult,
    read_result,
)
from fedward.rundir.run_file_names import is_needed, is_said_otherwise, made_again
from fedward.rundir.run_files import Append, RunFiles, Write
from fedward.rundir.same_run import check_same_run
from fedward.rundir.spent import Spent, reason_unknown, result_from_ledgers

Loaded = TypeVar("Loaded")
_COPY = "put back a copy of it"


class RunDirectory:
    """The files of one run. Made by ``open_run``, which holds the lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = RunFiles(path)
        self._checked = False
        self._measured: tuple[MeasuredRound, ...] | None = None

    def begin(self, manifest: Manifest) -> None:
        """Writes what is run, or checks that the directory holds the same run, or one with fewer rounds."""
        if not (self.path / "run.json").exists():
            require_no_run(self.path)
            self._save_manifest(first_manifest(manifest))
            return
        stored = self.manifest()
        self.require_undamaged(stored)
        more = with_more_rounds(stored, manifest)
        check_same_run(self.path, more or stored, manifest)
        self.files.settle()
        if more is not None:
            # In this order: without its result a run goes on, to whichever number of rounds it says.
            self.files.remove("result.json")
            self._save_manifest(more)
            stored = more
        now = ComputedBy(engine=manifest.engine, versions=manifest.versions)
        if changes(stored, now) and not self.is_over(stored):
            stored = stored.model_copy(update={"went_on": [*stored.went_on, now]})
            self._save_manifest(stored)
        if not stored.digests and not self.is_over(stored):
            self._save_manifest(stored)  # of an earlier version: from now on damage is noticed

    def _save_manifest(self, manifest: Manifest) -> None:
        self.files.write("run.json", manifest_bytes(manifest), private=True)

    def require_undamaged(self, stored: Manifest) -> None:
        """Refuses to go on from damaged files: once, as reading them all takes time.

        What the same command makes again may have been removed, to have it made again.
        """
        if not self._checked:
            require_undamaged(
                self.path,
                has_digests=stored.digests > 0,
                needed=is_needed,
                may_be_missing=lambda name: is_said_otherwise(name) or made_again(name),
            )
            self._checked = True

    def is_over(self, manifest: Manifest) -> bool:
        """Whether nothing more will be computed; replicas can always be added to."""
        return manifest.variants is None and (self.path / "result.json").exists()

    def manifest(self) -> Manifest:
        """What is run, as ``begin`` wrote it."""
        file = self.path / "run.json"
        if not file.exists():
            raise InvalidValue(f"{self.path} is not a run directory: it holds no run.json")
        require_own_files(self.path)
        return Manifest.read(_read_json(file, _COPY), file, _COPY)

    def require_shown_undamaged(self, manifest: Manifest) -> Digests:
        """Compares the files that are shown of a run with their digests; raises if one is damaged."""
        return require_undamaged(
            self.path, has_digests=manifest.digests > 0, may_be_missing=is_said_otherwise
        )

    def load_state(self) -> ServerState | None:
        """The state to go on from; None if no round has finished."""
        remove_leftovers(self.path)
        file = self.path / "checkpoint.pt"
        state = checkpoint.from_bytes(read_archive(file), str(file)) if file.exists() else None
        finished = state.round if state else 0
        self._measured = None
        self.files.cut("rounds.jsonl", finished)
        self.files.cut("telemetry.jsonl", finished)
        return state

    def with_reservation(self, state: ServerState) -> ServerState:
        """The state with what was reserved for a round that a kill kept from finishing.

        A reservation for a round that the checkpoint already holds was settled there.
        """
        if not (self.path / "ledger.json").exists():
            if state.round > 0:
                raise InvalidValue(
                    f"{self.path} holds a checkpoint but no ledger.json: what was spent is not known"
                )
            # Killed between the two files of the first reservation.
            return self._with_users(state) if (self.path / "users.json").exists() else state
        ledger = self.ledger()
        if ledger.rounds > state.round:
            raise InvalidValue(
                f"{self.path} must hold the checkpoint of round {ledger.rounds}, got that of {state.round}"
            )
        if ledger.reserved is not None and ledger.reserved.first_round >= state.round:
            state = replace(state, ledger=ledger)
        return self._with_users(state)

    def _with_users(self, state: ServerState) -> ServerState:
        if state.users is None:
            return state
        users = self.user_ledgers()
        if users is None:
            raise InvalidValue(f"{self.path} holds no users.json: what users have spent is not known")
        if users.num_users != state.users.num_users:
            raise InvalidValue(
                f"{self.path} must hold ledgers of {state.users.num_users} users, got {users.num_users}"
            )
        if users.reserved is not None and users.reserved.round >= state.round:
            return replace(state, users=users)
        return state

    def user_ledgers(self) -> UserLedgers | None:
        """What each user has spent, as it is on disk; None where the server protects them."""
        file = self.path / "users.json"
        return _read_ledger(file, user_ledgers_file.loads) if file.exists() else None

    def ledger(self, name: str = "ledger.json") -> Ledger:
        """What has been spent, as it is on disk."""
        return _read_ledger(self.path / name, ledger_file.loads)[0]

    def spent(self, manifest: Manifest, *, finished: bool) -> Spent:
        """All ledgers as they are on disk, or why they do not tell what was spent."""
        ledger = self.ledger() if (self.path / "ledger.json").exists() else None
        users = self.user_ledgers()
        papers = self.path / "papers-ledger.json"
        # An attack has one ledger: that of a training, or of a user that is drawn in every round.
        attacked, problem = manifest.inference is not None or manifest.audit is not None, ""
        if ledger is None and finished:
            again = "; the same command writes it" if attacked else ""
            problem = f"{reason_unknown(self.path / 'ledger.json')}{again}"
        elif ledger is not None and users is None and not attacked and _is_of_users(manifest, ledger):
            problem = reason_unknown(self.path / "users.json")
        return Spent(
            folder=self.path,
            ledger=ledger,
            users=users,
            papers=self.ledger(papers.name) if papers.exists() else None,
            problem=problem,
        )

    def reserve(self, ledger: Ledger, users: UserLedgers | None = None) -> None:
        """Makes a round's reservation durable (the ``Journal`` of ``train``)."""
        self.files.change(*_of_users(users), _write("ledger.json", ledger_file.dumps(ledger)))

    def save_round(self, state: ServerState, log: RoundLog) -> None:
        """Stores a finished round. Nothing else may see its model before."""
        changes: list[Write | Append] = []
        if log.telemetry is not None:
            record = {"round": log.round, "bounds": log.bounds, "kept": log.kept, **asdict(log.telemetry)}
            changes.append(Append(name="telemetry.jsonl", record=record, private=True))
        content = checkpoint.to_bytes(state)
        self.files.change(*changes, Write(name="checkpoint.pt", content=content, private=True))

    def save_metrics(self, round: int, measured: Measured) -> None:
        record = {"round": round, **measured.to_json()}
        self.files.append("rounds.jsonl", record)
        # As it is read from the file, which knows of no infinity.
        self._measured = (self._as_measured(json.loads(lines.encode(record))),)

    def last_measured(self) -> MeasuredRound | None:
        """The last record of ``metrics``, for whoever holds the lock: the file is read once a session."""
        if self._measured is None:
            self._measured = tuple(self.metrics()[-1:])
        return self._measured[0] if self._measured else None

    def metrics(self) -> list[MeasuredRound]:
        """What was measured, one record for each measured round."""
        return [self._as_measured(each) for each in lines.read(self.path / "rounds.jsonl")]

    def _as_measured(self, record: dict[str, Any]) -> MeasuredRound:
        return MeasuredRound.read(record, self.path / "rounds.jsonl", _COPY, f"in round {record['round']} ")

    def telemetry(self) -> list[TelemetryRound]:
        """Cohorts and norms, one record a round; empty where none is kept."""
        file = self.path / "telemetry.jsonl"
        return [TelemetryRound.read(each, file, _COPY) for each in lines.read(file)]

    def finish(
        self,
        module: nn.Module,
        ledger: Ledger,
        claims: list[Guarantee],
        result: TrainingResult,
        users: UserLedgers | None = None,
        papers: Ledger | None = None,
    ) -> None:
        """Writes the final model, the ledgers with their claims and, last, the result that ends the run."""
        buffer = io.BytesIO()
        torch.save(module.state_dict(), buffer)
        claimed = [] if papers is None else [_write("papers-ledger.json", ledger_file.dumps(papers))]
        self.files.change(
            Write(name="model.pt", content=buffer.getvalue()),
            *_of_users(users),
            *claimed,
            _write("ledger.json", ledger_file.dumps(ledger, claims)),
            Write(name="result.json", content=_json_bytes(result)),
        )

    def save_result(self, result: FileRecord) -> None:
        """Writes the result, which ends a run."""
        self.files.write("result.json", _json_bytes(result))

    def result(self) -> Result | None:
        """The result, if the run is finished; one that states another ε than its ledgers is refused."""
        file = self.path / "result.json"
        if not file.exists():
            return None
        manifest = self.manifest()
        found = read_result(_read_json(file, REMEDY), manifest, file)
        # Many replicas have ledgers, and no guarantee, of their own.
        if isinstance(found, ReplicasResult):
            return found
        return result_from_ledgers(found, manifest, self.spent(manifest, finished=True))


def _write(name: str, text: str, *, private: bool = False) -> Write:
    return Write(name=name, content=text.encode(), private=private)


def _of_users(users: UserLedgers | None) -> list[Write]:
    return [] if users is None else [_write("users.json", user_ledgers_file.dumps(users), private=True)]


def _json_bytes(record: FileRecord) -> bytes:
    return (json.dumps(record.to_json(), indent=2, allow_nan=False) + "\n").encode()


def first_manifest(manifest: Manifest) -> Manifest:
    """What is run, with where, when and by which command it was begun."""
    return manifest.model_copy(update={"environment": environment()})


def manifest_bytes(manifest: Manifest) -> bytes:
    """The content of ``run.json``."""
    return _json_bytes(manifest.model_copy(update={"digests": DIGESTS}))


def _read_json(file: Path, remedy: str) -> dict[str, Any]:
    try:
        text = read_text(file)
        require_modest(text, str(file))
        content = json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidValue(f"{file} is damaged and cannot be read, {error}: {remedy}") from error
    if not isinstance(content, dict):
        raise InvalidValue(f"{file} is damaged, it must hold one JSON object: {remedy}")
    return content


def _read_ledger(file: Path, loads: Callable[[str], Loaded]) -> Loaded:
    try:
        return loads(read_text(file))
    except (InvalidValue, UnicodeDecodeError) as error:
        raise InvalidValue(f"{file} cannot be used: {error}") from error


def _is_of_users(manifest: Manifest, ledger: Ledger) -> bool:
    """Whether users have ledgers of their own: the server's alone would say that nothing was spent."""
    return manifest.accounting == "users" or ledger.terms.noise_of == "looks"


@contextmanager
def open_run(path: Path) -> Iterator[RunDirectory]:
    """Opens or makes a run directory and keeps other processes out of it.

    One that holds links, pipes, devices or files of another owner is refused before anything is written.
    """
    if path.is_dir():
        require_own_directory(path)
    with hold_lock(path / ".lock", path, "run directory"):
        remove_leftovers(path)
        directory = RunDirectory(path)
        yield directory
        directory.files.close()
