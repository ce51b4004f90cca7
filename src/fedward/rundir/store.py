"""A run on disk: written atomically, resumed after a kill, locked against a second process.

run.json          what is run: the experiment, digests of its data, versions; where, when and by which command
ledger.json       what has been spent; a round is in it before any of its jobs runs
users.json        what each user has spent, where users protect themselves
checkpoint.pt     the state after the last finished round
rounds.jsonl      what was measured of the released models
telemetry.jsonl   cohorts, norms, rejected rows: not covered by any ε; absent with system entropy
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
from fedward.base.durable_files import remove, remove_leftovers, sync_directory, write_atomically
from fedward.base.locking import hold_lock
from fedward.base.validate import InvalidValue
from fedward.core.types import RoundLog, ServerState
from fedward.privacy import Guarantee, Ledger, ledger_file, user_ledgers_file
from fedward.privacy.user_ledgers import UserLedgers
from fedward.rundir import checkpoint
from fedward.rundir.computed_by import changes, environment
from fedward.rundir.file_record import FileRecord
from fedward.rundir.manifest import ComputedBy, Manifest
from fedward.rundir.more_rounds import with_more_rounds
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
from fedward.rundir.same_run import check_same_run
from fedward.rundir.spent import Spent, reason_unknown, result_from_ledgers

Loaded = TypeVar("Loaded")
_COPY = "put back a copy of it"


class RunDirectory:
    """The files of one run. Made by ``open_run``, which holds the lock."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, manifest: Manifest) -> None:
        """Writes what is run, or checks that the directory holds the same run, or one with fewer rounds."""
        if not (self.path / "run.json").exists():
            require_no_run(self.path)
            self._save_manifest(manifest.model_copy(update={"environment": environment()}))
            return
        stored = self.manifest()
        more = with_more_rounds(stored, manifest)
        check_same_run(self.path, more or stored, manifest)
        if more is not None:
            # In this order: without its result a run goes on, to whichever number of rounds it says.
            remove(self.path / "result.json")
            sync_directory(self.path)
            self._save_manifest(more)
            stored = more
        now = ComputedBy(engine=manifest.engine, versions=manifest.versions)
        if changes(stored, now) and not self.is_over(stored):
            self._save_manifest(stored.model_copy(update={"went_on": [*stored.went_on, now]}))

    def _save_manifest(self, manifest: Manifest) -> None:
        self._write("run.json", json.dumps(manifest.to_json(), indent=2) + "\n")

    def is_over(self, manifest: Manifest) -> bool:
        """Whether nothing more will be computed; replicas can always be added to."""
        return manifest.variants is None and (self.path / "result.json").exists()

    def manifest(self) -> Manifest:
        """What is run, as ``begin`` wrote it."""
        file = self.path / "run.json"
        if not file.exists():
            raise InvalidValue(f"{self.path} is not a run directory: it holds no run.json")
        return Manifest.read(_read_json(file, _COPY), file, _COPY)

    def load_state(self) -> ServerState | None:
        """The state to go on from; None if no round has finished."""
        remove_leftovers(self.path)
        file = self.path / "checkpoint.pt"
        state = checkpoint.from_bytes(file.read_bytes(), str(file)) if file.exists() else None
        finished = state.round if state else 0
        lines.cut(self.path / "rounds.jsonl", finished)
        lines.cut(self.path / "telemetry.jsonl", finished)
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
        # An inference attack has one ledger: that of a training, or of a user that is drawn in every round.
        attacked, problem = manifest.inference is not None, ""
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
        if users is not None:
            self._write("users.json", user_ledgers_file.dumps(users))
        self._write("ledger.json", ledger_file.dumps(ledger))

    def save_round(self, state: ServerState, log: RoundLog) -> None:
        """Stores a finished round. Nothing else may see its model before."""
        if log.telemetry is not None:
            record = {"round": log.round, "bounds": log.bounds, "kept": log.kept, **asdict(log.telemetry)}
            lines.append(self.path / "telemetry.jsonl", record)
        write_atomically(self.path / "checkpoint.pt", checkpoint.to_bytes(state))

    def save_metrics(self, round: int, measured: Measured) -> None:
        lines.append(self.path / "rounds.jsonl", {"round": round, **measured.to_json()})

    def metrics(self) -> list[MeasuredRound]:
        """What was measured, one record for each measured round."""
        file = self.path / "rounds.jsonl"
        return [
            MeasuredRound.read(each, file, _COPY, f"in round {each['round']} ") for each in lines.read(file)
        ]

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
        write_atomically(self.path / "model.pt", buffer.getvalue())
        if users is not None:
            self._write("users.json", user_ledgers_file.dumps(users))
        if papers is not None:
            self._write("papers-ledger.json", ledger_file.dumps(papers))
        self._write("ledger.json", ledger_file.dumps(ledger, claims))
        self.save_result(result)

    def save_result(self, result: FileRecord) -> None:
        """Writes the result, which ends a run."""
        self._write("result.json", json.dumps(result.to_json(), indent=2, allow_nan=False) + "\n")

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

    def _write(self, name: str, text: str) -> None:
        write_atomically(self.path / name, text.encode())


def _read_json(file: Path, remedy: str) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidValue(f"{file} is damaged and cannot be read, {error}: {remedy}") from error
    if not isinstance(content, dict):
        raise InvalidValue(f"{file} is damaged, it must hold one JSON object: {remedy}")
    return content


def _read_ledger(file: Path, loads: Callable[[str], Loaded]) -> Loaded:
    try:
        return loads(file.read_text(encoding="utf8"))
    except (InvalidValue, UnicodeDecodeError) as error:
        raise InvalidValue(f"{file} cannot be used: {error}") from error


def _is_of_users(manifest: Manifest, ledger: Ledger) -> bool:
    """Whether users have ledgers of their own: the server's alone would say that nothing was spent."""
    return manifest.accounting == "users" or ledger.terms.noise_of == "looks"


@contextmanager
def open_run(path: Path) -> Iterator[RunDirectory]:
    """Opens or makes a run directory and keeps other processes out of it."""
    with hold_lock(path / ".lock", path, "run directory"):
        remove_leftovers(path)
        yield RunDirectory(path)
