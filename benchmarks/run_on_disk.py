"""What lies in a run directory: how far it is, what was being done, and whether two are the same."""

from __future__ import annotations

import contextlib
import json
import re
import zipfile
from pathlib import Path
from typing import Any

from fedward.rundir.digest_log import parse_log

_BLOCK = re.compile(r"scores-(\d+)-(\d+)\.npz")


class Progress:
    """How much of the work lies on disk: rounds of single trainings, or of blocks of replicas."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._block: tuple[int, int, int] = (0, 0, 0)

    def now(self) -> int:
        trained = sum(_lines(file) for file in self._path.glob("**/telemetry.jsonl"))
        blocks = [each for file in self._path.glob("scores-*.npz") if (each := _BLOCK.fullmatch(file.name))]
        finished = max((int(each[2]) for each in blocks), default=0)
        start, rounds = self._under_way()
        return trained + len(blocks) * self._rounds() + rounds * (start == finished)

    def _rounds(self) -> int:
        """Of each replica; 0 before anything is known."""
        file = self._path / "run.json"
        experiment = json.loads(file.read_text())["experiment"] if file.exists() else {}
        return max((int(each["rounds"]) for each in experiment.get("variants", {}).values()), default=0)

    def _under_way(self) -> tuple[int, int]:
        """The first replica of the block under way, and how many rounds it has had."""
        file = self._path / "block.pt"
        with contextlib.suppress(FileNotFoundError):
            changed = file.stat().st_mtime_ns
            if self._block[0] != changed:
                from fedward.base.sealed import unseal

                found = unseal("fedward block 2", file.read_bytes(), str(file), "")
                rounds = max(state["round"] for state in found["states"])
                self._block = (changed, found["start"], rounds)
            return self._block[1:]
        return 0, 0


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n")


def phase(path: Path, done: int, rounds: int) -> str:
    """What was being done, by what lies on disk."""
    half = sorted(file.name for file in path.glob("**/.*.part"))
    if half:
        return f"while {half[0].split('.')[1]} was written"
    if not list(path.glob("**/run.json")):
        return "before it began"
    if done >= rounds:
        return "after the last round"
    ledgers = list(path.glob("**/ledger.json"))
    if not ledgers:
        return "in or between rounds"
    return "in a round" if any(map(_reserved, ledgers)) else "between rounds"


def _reserved(ledger: Path) -> bool:
    """Whether a round is paid for and nothing of it stored."""
    reserved, told = json.loads(ledger.read_text())["reserved"], ledger.with_name("telemetry.jsonl")
    return reserved is not None and reserved["first_round"] >= (_lines(told) if told.exists() else 0)


def differences(one: Path, other: Path) -> list[str]:
    """The files that are not the same, byte for byte.

    Of run.json all is compared but where and when it was begun; of replicas all but how many user trainings
    were really run, which are more after a kill.
    """
    names = [
        {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file() and file.name != ".lock"}
        for path in (one, other)
    ]
    found = [f"{name} is there only once" for name in sorted(names[0] ^ names[1])]
    return found + [
        name for name in sorted(names[0] & names[1]) if _content(one, name) != _content(other, name)
    ]


def _content(path: Path, name: str) -> Any:
    file, content = path / name, (path / name).read_bytes()
    if file.name in ("run.json", "result.json"):
        return {k: v for k, v in json.loads(content).items() if k not in ("environment", "jobs_run")}
    if file.name == "digests.jsonl":  # of files that say when; the files themselves are compared
        return sorted(parse_log(content, name).files)
    if _BLOCK.fullmatch(file.name):
        with zipfile.ZipFile(file) as arrays:
            return {each: arrays.read(each) for each in arrays.namelist() if each != "run.npy"}
    return content
