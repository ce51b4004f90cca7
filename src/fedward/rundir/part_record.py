"""The file that says of which part of a study a directory is: ``part.json``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from fedward.base.validate import InvalidValue, whole
from fedward.rundir.damage import find_damage
from fedward.rundir.file_record import FileRecord, json_object
from fedward.rundir.run_files import RunFiles

NAME = "part.json"
_REMEDY = "give the same --range again in another directory"


class PartRecord(FileRecord):
    """Replicas, or trainings of a sweep, ``start`` to ``stop`` - 1 of so many.

    >>> str(PartRecord.parse("25:50", 100))
    '25:50 of 100'
    """

    start: int
    stop: int
    of: int
    runs: list[str] = Field(default_factory=list)
    """The directories of all trainings of a sweep, in their order; those of the others included."""

    @classmethod
    def parse(cls, text: str, of: int, runs: Sequence[str] = ()) -> PartRecord:
        """What ``--range A:B`` says: A is the first, B the one after the last."""
        first, colon, last = text.partition(":")
        if not (colon and first.isdecimal() and last.isdecimal() and int(first) < int(last) <= of):
            raise InvalidValue(f"range must be A:B with A below B and B at most {of:,}, got {text!r}")
        return cls(start=int(first), stop=int(last), of=whole("number of all", of), runs=list(runs))

    def __str__(self) -> str:
        return f"{self.start}:{self.stop} of {self.of:,}"


def read_part(path: Path) -> PartRecord | None:
    """Which part a directory is of; None for a whole."""
    content = json_object(path / NAME)
    return None if content is None else PartRecord.read(content, path / NAME, _REMEDY)


def begin_part(files: RunFiles, part: PartRecord | None, *, begun: bool) -> None:
    """Says which part a directory is of, or checks that it is of this one.

    Args:
      files: those of the directory.
      part: the part; None for a whole.
      begun: whether something has been done there.
    """
    path = files.path
    require_part_undamaged(path)
    there = read_part(path)
    if there == part:
        return
    if there is None and not begun:
        assert part is not None
        files.write(NAME, (json.dumps(part.to_json()) + "\n").encode())
        return
    here, other = (f"--range {part}" if part else "all of it"), (f"part {there}" if there else "a whole")
    raise InvalidValue(f"{path} must be of {here}, got the directory of {other}; choose another with --out")


def require_part_undamaged(path: Path) -> None:
    """Raises if what says which part a directory is of is not as it was written."""
    # Whether there must be digests is asked of the whole directory, by whatever goes on with it.
    _, found = find_damage(path, has_digests=False, wanted=lambda name: name == NAME)
    for each in found:
        if each.file.name == NAME:
            raise InvalidValue(f"{each}; {each.remedy}")
