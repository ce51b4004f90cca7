"""A part of a study: the same steps for some of its replicas or trainings, and no result yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from fedward.backends.compute import Compute
from fedward.rundir.part_record import PartRecord
from fedward.studies.progress import Progress
from fedward.studies.study import Place, Study


@dataclass(frozen=True, kw_only=True)
class PartStudy(Generic[Place]):
    """One part; what comes out of all of them is said when they are merged.

    Args:
      whole: the study, made for this part.
      part: which replicas or trainings.
    """

    whole: Study[Place, object]
    part: PartRecord

    def open(self, path: Path, compute: Compute) -> AbstractContextManager[Place]:
        return self.whole.open(path, compute)

    def steps(self, place: Place, compute: Compute) -> Iterator[Progress]:
        return self.whole.steps(place, compute)

    def result(self, place: Place) -> PartRecord:
        return self.part
