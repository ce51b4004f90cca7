"""``fedward.report``: one page about runs, to be read or to be signed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fedward.api.source import PathLike
from fedward.base.validate import InvalidValue, whole
from fedward.reports.audit.audit_page import write_audit
from fedward.reports.page import write


@dataclass(frozen=True, kw_only=True)
class ReportRecord:
    """A page that was written.

    Attributes:
      path: the file.
      runs: the directories that it is about.
      for_audit: whether it is the document that an auditor signs.
    """

    path: Path
    runs: tuple[Path, ...]
    for_audit: bool = False


def report(
    runs: PathLike | Sequence[PathLike],
    *,
    out: PathLike | None = None,
    for_audit: bool = False,
    data: PathLike | None = None,
    devices_per_person: int = 1,
) -> ReportRecord:
    """Writes one HTML page about runs: what ``fedward report`` does.

    Args:
      runs: run directories, or one of them; several are compared.
      out: the page; ``report.html``, or ``audit.html`` for an auditor, if not given. One that is there is
        replaced.
      for_audit: the document for an auditor: parameters, guarantees, assumptions, digests, versions.
      data: where data sets lie, for pictures of examples; else ``FEDWARD_DATA``.
      devices_per_person: k: how many users one person may be; the page says what such a person is promised.
    """
    paths = tuple(map(Path, [runs] if isinstance(runs, str | os.PathLike) else runs))
    page = Path(out) if out is not None else Path("audit.html" if for_audit else "report.html")
    if for_audit:
        if whole("devices per person", devices_per_person) > 1:
            raise InvalidValue(
                "the document for an auditor is about single users, got devices per person; "
                "fedward ledger --devices-per-person says what a person gets"
            )
        write_audit(paths, page)
    else:
        write(paths, page, None if data is None else Path(data), devices_per_person)
    return ReportRecord(path=page, runs=paths, for_audit=for_audit)
