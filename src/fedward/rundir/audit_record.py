"""A run directory of ``fedward audit``, read into values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fedward.base.table_rows import frame
from fedward.privacy import Guarantee
from fedward.rundir.audit_result import AuditResult, BoundRecord
from fedward.rundir.damage import NO_DIGESTS, Digests
from fedward.rundir.manifest import Manifest
from fedward.rundir.store import RunDirectory

Verdict = Literal["no violation", "violation"]


@dataclass(frozen=True, kw_only=True, eq=False)
class AuditRecord:
    """A run of ``fedward audit``, finished or not.

    Attributes:
      path: its directory.
      manifest: what is audited, and how, as in ``run.json``.
      stored: how many parts of its trainings are stored.
      result: what was measured; None if the run is not finished.
      digests: whether its files were compared with their digests, or damage cannot be noticed.
    """

    path: Path
    manifest: Manifest
    stored: int = 0
    result: AuditResult | None = None
    digests: Digests = NO_DIGESTS

    @property
    def experiment(self) -> dict[str, Any]:
        """The experiment that is audited, table by table."""
        return {key: value for key, value in self.manifest.experiment.items() if key != "audit"}

    @property
    def about(self) -> dict[str, Any]:
        """How it is audited: mode, view, runs."""
        return self.manifest.audit or {}

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def claimed(self) -> float | None:
        """The ε that is promised; None before the end."""
        return None if self.result is None else self.result.claimed

    @property
    def lower_bound(self) -> float | None:
        """The largest of the bounds, which hold together but for ``error``; None before the end."""
        return None if self.result is None else self.result.lower_bound

    @property
    def estimate(self) -> float | None:
        """The ε that fits best what was measured: no bound. None before the end, and where there is none."""
        return None if self.result is None else self.result.estimate

    @property
    def verdict(self) -> Verdict | None:
        """Whether a bound lies above the claim; None before the end."""
        return None if self.result is None else self.result.verdict

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the largest bound assumes."""
        return () if self.result is None else tuple(self.result.assumptions)

    @property
    def bounds(self) -> tuple[BoundRecord, ...]:
        """All bounds, each with what it assumes."""
        return () if self.result is None else tuple(self.result.bounds)

    def guarantee(self) -> Guarantee | None:
        """What is audited; None before the end."""
        return None if self.result is None else self.result.guarantee

    def table_rows(self) -> list[dict[str, Any]]:
        """The promise by each accountant, the bounds and the estimate, one row each."""
        return [] if self.result is None else list(_rows(self.result))

    def to_pandas(self) -> Any:
        """The same as a table of pandas."""
        return frame(self.table_rows())


def _rows(result: AuditResult) -> Iterator[dict[str, Any]]:
    for name, epsilon in result.accountants.items():
        yield {"kind": "promised", "by": name, "epsilon": epsilon, "assumes": ""}
    for bound in result.bounds:
        yield {"kind": "at least", "by": bound.method, "epsilon": bound.epsilon, "assumes": bound.assumes}
    yield {"kind": "estimate", "by": "best fit", "epsilon": result.estimate, "assumes": "no bound"}


def read_audit(folder: Path, manifest: Manifest) -> AuditRecord:
    """Reads the directory of a run whose manifest is of ``fedward audit``."""
    result = RunDirectory(folder).result()
    assert result is None or isinstance(result, AuditResult)  # as its manifest says
    stored = sum(1 for _ in folder.glob("seen-*.npz"))
    return AuditRecord(path=folder, manifest=manifest, stored=stored, result=result)
