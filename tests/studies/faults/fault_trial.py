"""One schedule of faults carried out: the study must end with the bits of one that was left alone."""

from __future__ import annotations

import io
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fedward.rundir.digest_log import NAME, parse_log
from studies.faults.fault_schedule import Fault, FaultSchedule
from studies.faults.fault_session import Paid, Released, Session, paid, released
from studies.faults.faulted_studies import ALL, LATER, STUDIES
from studies.faults.simulated_disk import SimulatedDisk

LOCKS = (".lock", ".fedward-lock")
SESSION = ("environment", "jobs_run", "went_on")
"""Keys of JSON files that tell when and how often something was run, not what came out."""


@dataclass(frozen=True, kw_only=True)
class Undisturbed:
    """A study that was left alone: its moments, and what it wrote."""

    moments: Counter[str]
    files: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What came of a schedule: the faults that happened, and what is wrong; nothing if that is empty.

    ``trace`` has all moments of all sessions, in order.
    """

    schedule: FaultSchedule
    happened: tuple[str, ...]
    trace: tuple[str, ...]
    problem: str


@cache
def undisturbed(study: str) -> Undisturbed:
    """Carried out once a process."""
    ALL[study].prepare()
    with tempfile.TemporaryDirectory() as folder, closing(SimulatedDisk(Path(folder))) as disk:
        session = Session(ALL[study], Path(folder), disk, study)
        if (ended := session.run()) is not None:
            raise AssertionError(f"{study} failed though nothing went wrong: {ended!r}")
        return Undisturbed(moments=session.moments, files=contents(Path(folder)))


def schedule_of(seed: int) -> FaultSchedule:
    return FaultSchedule.of(seed, tuple(STUDIES), tuple(LATER))


def try_seed(seed: int, folder: Path) -> Trial:
    """Carries out the schedule of a seed in an empty directory."""
    with closing(SimulatedDisk(folder)) as disk:
        return FaultTrial(schedule_of(seed), folder, disk).carry_out()


class FaultTrial:
    """A study under one fault after the other, then left alone, then without power after its end."""

    def __init__(self, schedule: FaultSchedule, folder: Path, disk: SimulatedDisk) -> None:
        self._schedule, self._folder, self._disk = schedule, folder, disk
        self._study, self._expected = ALL[schedule.study], undisturbed(schedule.study)
        self._sessions: list[Session] = []
        self._happened: list[str] = []
        self._paid: Paid = {}
        self._released: Released = {}

    def carry_out(self) -> Trial:
        """Up to the first thing that is wrong."""
        problem = next((each for each in self._problems() if each), "")
        trace = tuple(moment for session in self._sessions for moment in session.trace)
        return Trial(schedule=self._schedule, happened=tuple(self._happened), trace=trace, problem=problem)

    def _problems(self) -> Iterator[str]:
        for fault in self._schedule.faults:
            yield self._run(fault)
            yield self._forgotten(fault.kind)
        yield self._run()
        yield self._difference()
        self._lose_power_at_the_end()
        yield self._forgotten("a loss of power after the end")
        yield self._run()
        if self._sessions[-1].moments["job"] and not self._study.starts_again:
            yield "a loss of power after the end made it train again"
        yield self._difference()

    def _run(self, fault: Fault | None = None) -> str:
        entropy = f"{self._schedule.seed} {len(self._sessions)}"
        session = Session(self._study, self._folder, self._disk, entropy, fault, self._expected.moments)
        self._sessions.append(session)
        ended = session.run()
        self._happened += [fault.kind] if fault is not None and session.happened else []
        self._paid |= session.paid
        self._released |= session.released
        return session.problem(ended)

    def _forgotten(self, by: str) -> str:
        now = paid(self._folder)
        if lost := [file for file, rounds in self._paid.items() if now.get(file, 0) < rounds]:
            return f"budget is forgotten in {lost}: {self._paid} before {by}, {now} after it"
        replaced = "" if self._study.repeatable else _replaced(self._released, released(self._folder))
        return f"{replaced} after {by}" if replaced else ""

    def _difference(self) -> str:
        files = contents(self._folder)
        if not self._study.repeatable:
            return "" if files.keys() == self._expected.files.keys() else f"other files: {sorted(files)}"
        return "; ".join(differences(self._expected.files, files))

    def _lose_power_at_the_end(self) -> None:
        choice = random.Random(f"end {self._schedule.seed}")
        self._disk.restore(self._disk.after_power_loss(choice))


def _replaced(seen: Released, now: Released) -> str:
    """A round that was seen must not be drawn again: nobody would pay for the first of the two."""
    for file, (round, digest) in seen.items():
        later, other = now.get(file, (-1, ""))
        if later < round or (later == round and other != digest):
            return f"round {round} of {file} was seen, and is lost or another"
    return ""


def differences(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    for name in sorted(one.keys() ^ other.keys()):
        yield f"{name} is there only once"
    for name in sorted(one.keys() & other.keys()):
        if one[name] != other[name]:
            yield f"{name} differs"


def contents(root: Path) -> dict[str, Any]:
    """All files but locks, without what may differ from one session to the next."""
    files = (file for file in root.rglob("*") if file.is_file() and not file.name.endswith(LOCKS))
    return {str(file.relative_to(root)): _content(file) for file in files}


def _content(file: Path) -> Any:
    content = file.read_bytes()
    if file.name == NAME:  # of files that hold times, too
        return sorted(parse_log(content, str(file)).files)
    if file.suffix == ".json":
        found = json.loads(content)
        return {key: value for key, value in found.items() if key not in SESSION}
    if file.suffix == ".npz":
        with np.load(io.BytesIO(content)) as arrays:
            return {key: arrays[key].tobytes() for key in arrays.files if key != "run"}
    return content
