"""Trainings of a sweep that were run in parts, put together in one directory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedward.base.validate import InvalidValue
from fedward.rundir.arriving import read_files, take_in
from fedward.rundir.damage import require_undamaged
from fedward.rundir.place import SWEPT, kind_of
from fedward.rundir.run_file_names import is_own
from fedward.rundir.same_run import check_same_run
from fedward.rundir.store import RunDirectory, open_run
from fedward.rundir.sweep_record import require_sweep_undamaged
from fedward.studies.merging.study_parts import Part, require_same_bits


def merge_sweep(parts: Sequence[Part], out: Path) -> int:
    """Puts the runs of all parts into one directory; returns how many there are.

    Killed at any moment, the same call goes on. ``fedward sweep --out``, or ``arena``, then writes the
    tables.
    """
    first = parts[0]
    one = (first.path / first.record.runs[first.record.start], RunDirectory(_first_run(first)).manifest())
    for part in parts:
        require_sweep_undamaged(part.path)
        if (part.path / SWEPT).read_bytes() != (first.path / SWEPT).read_bytes():
            raise InvalidValue(f"parts must be of one sweep, got others in {first.path} and {part.path}")
        for name in part.record.runs[part.record.start : part.record.stop]:
            run = RunDirectory(part.path / name)
            if not (run.path / "run.json").exists() or run.result() is None:
                raise InvalidValue(f"{part.path} must be finished, got no run {name}: give its command again")
            # All its files, as they will be copied.
            require_undamaged(run.path, has_digests=run.manifest().digests > 0, needed=is_own)
            require_same_bits(one, (run.path, run.manifest()))
    if kind_of(out) not in ("", "a sweep"):
        raise InvalidValue(f"{out} must be empty or of this sweep, got the directory of {kind_of(out)}")
    with open_run(out) as place:
        if (out / SWEPT).exists() and (out / SWEPT).read_bytes() != (first.path / SWEPT).read_bytes():
            raise InvalidValue(f"{out} must be empty or of this sweep, got that of another")
        place.files.write_if_changed(SWEPT, (first.path / SWEPT).read_bytes())
        for part in parts:
            for name in part.record.runs[part.record.start : part.record.stop]:
                _copy_run(part.path / name, out / name)
    return len(first.record.runs)


def _first_run(part: Part) -> Path:
    return part.path / part.record.runs[part.record.start]


def _copy_run(source: Path, to: Path) -> None:
    """Copies a finished run; it has its name only once it is whole."""
    if to.exists():
        check_same_run(to, RunDirectory(to).manifest(), RunDirectory(source).manifest())
        return
    take_in(to, read_files(source))
