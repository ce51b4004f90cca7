"""Studies that are carried out in two parts and merged, to be carried out under faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedward.api.merge_api import merge_parts
from fedward.backends.compute import IN_PROCESS, Compute
from fedward.studies.part_study import PartStudy
from fedward.studies.study import Watch, carry_out


@dataclass(frozen=True, kw_only=True)
class MergedStudy:
    """Both parts of a study, and what they come to. ``make`` makes a part, or the whole for None.

    The whole is carried out where the parts were merged: it finds everything done.
    """

    make: Callable[[str | None], Any]
    parts: tuple[str, ...]
    repeatable: bool = True
    reserves: str = ""
    starts_again: bool = False

    def prepare(self) -> None:
        """Loads and checks what it needs, once a process."""
        for part in (*self.parts, None):
            self.make(part)

    def carry_out(self, root: Path, watch: Watch, compute: Compute = IN_PROCESS) -> None:
        """Begins all of it or goes on with it, as somebody does who gives all commands again."""
        folders = []
        for part in self.parts:
            study = self.make(part)
            folders.append(root / f"part-{part.partition(':')[0]}")
            carry_out(PartStudy(whole=study, part=part_of(study)), folders[-1], compute, watch)
        merge_parts(folders, root / "out")
        carry_out(self.make(None), root / "out", compute, watch)


def part_of(study: Any) -> Any:
    """The part that a study of replicas, or a sweep, was made for."""
    return study.part if hasattr(study, "part") else study.wanted.part
