"""Records of runs that show themselves: in a notebook, and as a picture."""

from __future__ import annotations

from dataclasses import dataclass, fields

from fedward.report.pictures.picture import Picture
from fedward.report.pictures.record_picture import html_of, picture_of
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord


class Shown:
    """What a notebook asks of a record."""

    def plot(self) -> Picture:
        """Its curves: a notebook shows them, ``.save(path)`` writes PNG, ``.figure`` is matplotlib's."""
        return picture_of(self)  # type: ignore[arg-type]  # the records below are all that it draws

    def _repr_html_(self) -> str:
        return html_of(self)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True, eq=False)
class Run(Shown, RunRecord):
    """A run of ``fedward run``."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Replicas(Shown, ReplicasRecord):
    """A run of ``fedward replicas`` or ``fedward certify``."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Inference(Shown, InferenceRecord):
    """A run of ``fedward infer``."""


def show(record: Record) -> Run | Replicas | Inference:
    """The same record, able to show itself."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    if isinstance(record, RunRecord):
        return Run(**values)
    return Replicas(**values) if isinstance(record, ReplicasRecord) else Inference(**values)
