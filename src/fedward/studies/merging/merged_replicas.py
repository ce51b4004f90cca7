"""Replicas that were trained in parts, put together in one run directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedward.base.arrays_file import read_arrays
from fedward.base.validate import InvalidValue
from fedward.rundir.blocks_ahead import blocks_ahead, gaps, write_ahead
from fedward.rundir.replica_store import ReplicaDirectory, count_finished, stored_draw
from fedward.rundir.results import ReplicasResult
from fedward.rundir.same_run import check_same_run
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.merging.study_parts import Part, require_same_bits
from fedward.studies.replicas.replica_results import summarise

_BESIDE = ("labels.npz", "ledgers.json", "claims.json")
"""The files that all parts must have alike, where they have them."""


def merge_replicas(parts: Sequence[Part], out: Path) -> ReplicasResult:
    """Puts the replicas of all parts into one directory, which is as if they had been trained there.

    Killed at any moment, the same call goes on.
    """
    first = parts[0].path
    manifest = RunDirectory(first).manifest()
    for part in parts:
        _require_alike(first, part)
    with open_run(out) as run:
        run.begin(manifest)
        for name in _BESIDE:
            if (first / name).exists():
                content = (first / name).read_bytes()
                if not (out / name).exists() or (out / name).read_bytes() != content:
                    run.files.write(name, content, private=_is_private(first / name))
        directory = ReplicaDirectory(run, save_space=bool(manifest.experiment.get("save_space")))
        directory.append_ahead()
        for part in parts:
            for start, stop, file in blocks_ahead(part.path):
                if gaps(start, stop, directory.finished):
                    write_ahead(run.files, start, stop, read_arrays(file))
                    directory.append_ahead()
        if count_finished(out) != parts[-1].record.stop:
            raise InvalidValue(
                f"{out} must hold nothing but these parts; choose another directory with --out"
            )
        found = summarise(out, list(manifest.variants or ()))
        run.save_result(found)
        return found


def _require_alike(first: Path, part: Part) -> None:
    """Refuses a part of another experiment, with other bits, of other claims, or that is not finished."""
    one, another = RunDirectory(first).manifest(), RunDirectory(part.path).manifest()
    RunDirectory(part.path).require_undamaged(another)
    check_same_run(part.path, another, one)
    require_same_bits((first, one), (part.path, another))
    there = [(start, stop) for start, stop, _ in blocks_ahead(part.path)]
    if missing := gaps(part.record.start, part.record.stop, there):
        told = ", ".join(f"{start}:{stop}" for start, stop in missing)
        raise InvalidValue(f"{part.path} must be finished, got no replicas {told}: give its command again")
    if stored_draw(first) != stored_draw(part.path):
        raise InvalidValue(f"parts must be of one draw, got others in {first} and {part.path}")
    for name in _BESIDE:
        contents = [
            (path / name).read_bytes() if (path / name).exists() else None for path in (first, part.path)
        ]
        if contents[0] != contents[1]:
            raise InvalidValue(f"parts must have the same {name}, got others in {first} and {part.path}")


def _is_private(file: Path) -> bool:
    return file.stat().st_mode & 0o077 == 0
