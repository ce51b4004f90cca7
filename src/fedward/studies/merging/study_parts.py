"""The directories of all parts of a study, checked against each other before anything is copied."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fedward.base.validate import InvalidValue
from fedward.rundir.computed_by import list_changes
from fedward.rundir.manifest import Manifest
from fedward.rundir.part_record import PartRecord, read_part, require_part_undamaged
from fedward.rundir.store import open_run


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part and where it is."""

    path: Path
    record: PartRecord


@contextmanager
def open_parts(folders: Sequence[Path]) -> Iterator[list[Part]]:
    """All parts in their order, kept from other processes; overlaps and gaps are refused."""
    if len(set(map(os.path.realpath, folders))) < len(folders):
        raise InvalidValue("parts must be given once each, got one directory twice")
    with ExitStack() as stack:
        parts = []
        for folder in folders:
            if not folder.is_dir():
                raise InvalidValue(f"{folder} must be the directory of a part, got no directory")
            require_part_undamaged(folder)
            record = read_part(folder)
            if record is None:
                raise InvalidValue(
                    f"{folder} must be the directory of a part (made with --range A:B), got one without "
                    "part.json"
                )
            stack.enter_context(open_run(folder))
            parts.append(Part(path=folder, record=record))
        parts.sort(key=lambda part: (part.record.start, part.record.stop))
        _require_whole(parts)
        yield parts


def _require_whole(parts: Sequence[Part]) -> None:
    first, following = parts[0], 0
    for part in parts:
        record = part.record
        if (record.of, record.runs) != (first.record.of, first.record.runs):
            raise InvalidValue(
                f"parts must be of one study, got {record} in {part.path} and {first.record} in {first.path}"
            )
        if record.start != following:
            kind = "a gap" if record.start > following else "an overlap"
            between = f"{min(following, record.start)}:{max(following, record.start)}"
            raise InvalidValue(f"parts must follow each other, got {kind} of {between} before {part.path}")
        following = record.stop
    if following != first.record.of:
        raise InvalidValue(
            f"parts must be all there are, got a gap of {following}:{first.record.of} at the end"
        )


def require_same_bits(first: tuple[Path, Manifest], other: tuple[Path, Manifest]) -> None:
    """Refuses what was computed by other versions or another engine: its bits may be others."""
    for path, manifest in (first, other):
        if changed := list_changes(manifest):
            raise InvalidValue(
                f"parts must be computed by one engine and one set of versions, got {path}, which went on "
                f"with others: {'; '.join(changed)}"
            )
    (path, one), (path_of_other, another) = first, other
    differ = [f"{one.engine} and {another.engine}"] if one.engine != another.engine else []
    differ += [
        f"{name} {one.versions.get(name)} and {another.versions.get(name)}"
        for name in sorted(one.versions.keys() | another.versions.keys())
        if one.versions.get(name) != another.versions.get(name)
    ]
    if differ:
        raise InvalidValue(
            f"parts must have the same bits, got {', '.join(differ)} in {path} and {path_of_other}"
        )
