"""Records of runs that show themselves: in a notebook, as a picture, in a file."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, overload

from fedward.base.saved_file import json_text, write_record
from fedward.base.table_rows import csv_text, frame
from fedward.models.weights_file import About
from fedward.reports.page.charts.chart import Chart, Line
from fedward.reports.pictures.notebook_html import html_of
from fedward.reports.pictures.picture import Picture
from fedward.reports.pictures.picture_style import StyleName
from fedward.reports.pictures.record_picture import draw, picture_of
from fedward.reports.record_files import save_record
from fedward.reports.record_line import record_line
from fedward.rundir.arena_record import ArenaRecord
from fedward.rundir.audit_record import AuditRecord
from fedward.rundir.inference_record import InferenceRecord
from fedward.rundir.run_record import Record, ReplicasRecord, RunRecord
from fedward.rundir.sweep_record import SweepRecord


class Shown:
    """What people ask of a record, whatever it is of."""

    def plot(self, style: StyleName = "screen") -> Picture:
        """Its curves: a notebook shows them, ``.save(path)`` writes .png, .pdf or .svg.

        Args:
          style: ``screen``; ``paper`` for one column of a paper, without titles and in letters of 8 pt;
            ``paper-wide`` for two columns.
        """
        return picture_of(self._record(), style)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the record, whole or not at all.

        Args:
          path: ends in .json for its values with all digits, in .csv for the table of ``to_pandas``, or in
            .html for its report.
        """
        save_record(self._record(), path)

    def _record(self) -> Record | SweepRecord | ArenaRecord:
        kinds = RunRecord | ReplicasRecord | InferenceRecord | AuditRecord | SweepRecord | ArenaRecord
        assert isinstance(self, kinds)
        return self

    def __repr__(self) -> str:
        record = self._record()
        return f"{type(self).__name__}({str(record.path)!r}: {record_line(record)})"

    def _repr_html_(self) -> str:
        return html_of(self._record())


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Run(Shown, RunRecord):
    """A run of ``fedward run``."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Replicas(Shown, ReplicasRecord):
    """A run of ``fedward replicas`` or ``fedward certify``."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Inference(Shown, InferenceRecord):
    """A run of ``fedward infer``."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Audit(Shown, AuditRecord):
    """A run of ``fedward audit``."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Sweep(Shown, SweepRecord):
    """A finished run of ``fedward sweep``."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Arena(Shown, ArenaRecord):
    """A run of ``fedward arena``."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Weights:
    """Weights of ``fedward pretrain``, trained without privacy.

    Attributes:
      path: the file.
      about: what they were trained with, on which data, and how well they do after each epoch.
    """

    path: Path
    about: About

    def table_rows(self) -> list[dict[str, Any]]:
        """Accuracy on the test set, one row for each epoch."""
        return [{"epoch": number, "accuracy": each} for number, each in enumerate(self.about.accuracy, 1)]

    def to_pandas(self) -> Any:
        """The same as a table of pandas."""
        return frame(self.table_rows())

    def plot(self, style: StyleName = "screen") -> Picture:
        """Accuracy against epochs."""
        chart = Chart(
            key="weights",
            title=str(self.about),
            x="epoch",
            y="accuracy",
            percent=True,
            lines=(Line("accuracy", tuple((n, each) for n, each in enumerate(self.about.accuracy, 1))),),
        )
        return draw([chart], style)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a .json file with all that is known of them, or a .csv file with the table."""
        content = {"kind": "weights", "path": str(self.path), **asdict(self.about)}
        write_record(path, {".json": lambda: json_text(content), ".csv": lambda: csv_text(self.table_rows())})

    def __repr__(self) -> str:
        return f"Weights({str(self.path)!r}: {self.about})"


@overload
def show(record: ArenaRecord) -> Arena: ...
@overload
def show(record: SweepRecord) -> Sweep: ...
@overload
def show(record: Record) -> Run | Replicas | Inference | Audit: ...
def show(
    record: Record | SweepRecord | ArenaRecord,
) -> Run | Replicas | Inference | Audit | Sweep | Arena:
    """The same record, able to show itself."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    if isinstance(record, ArenaRecord):
        return Arena(**values)
    if isinstance(record, SweepRecord):
        return Sweep(**values)
    if isinstance(record, RunRecord):
        return Run(**values)
    if isinstance(record, AuditRecord):
        return Audit(**values)
    return Replicas(**values) if isinstance(record, ReplicasRecord) else Inference(**values)
