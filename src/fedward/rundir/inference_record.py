"""A run directory of ``fedward infer``, read into values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fedward.attacks.inference import Limit, Roc
from fedward.attacks.inference.auc import Floats
from fedward.base.arrays_file import check_arrays, read_arrays
from fedward.base.table_rows import frame
from fedward.base.validate import InvalidValue
from fedward.privacy import Guarantee
from fedward.rundir.damage import NO_DIGESTS, Digests
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import InferenceResult, MembershipResult, RocRecord
from fedward.rundir.run_files import RunFiles
from fedward.rundir.store import RunDirectory

PROPERTY = "property inference"
NAME = "curves.npz"
# Dense where false positives are few: that is where attacks are compared.
_RATES = np.unique(np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 121), np.linspace(0.0, 1.0, 101)]))

Curve = tuple[Floats, Floats]
"""False positive rates, from 0 to 1, and the true positive rate at each."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curves:
    """The curve of each attack, and the limit; None where nothing is promised."""

    attacks: dict[str, Curve] = field(default_factory=dict)
    limit: Curve | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class InferenceRecord:
    """A run of ``fedward infer membership`` or ``fedward infer property``, finished or not.

    Attributes:
      path: its directory.
      manifest: what is attacked, and how, as in ``run.json``.
      stored: how many trainings, or rounds of the one that is watched, are stored.
      result: what the attacks found; None if the run is not finished.
      curves: the ROC curve of each attack, and what privacy allows; empty for runs of fedward 0.1.
      digests: whether its files were compared with their digests, or damage cannot be noticed.
    """

    path: Path
    manifest: Manifest
    stored: int = 0
    result: InferenceResult | None = None
    curves: Curves = field(default_factory=Curves)
    digests: Digests = NO_DIGESTS

    @property
    def experiment(self) -> dict[str, Any]:
        """The experiment that is attacked, table by table."""
        return {key: value for key, value in self.manifest.experiment.items() if key != "inference"}

    @property
    def about(self) -> dict[str, Any]:
        """Which attack it is: its kind, and what decides what it sees."""
        return self.manifest.inference or {}

    @property
    def kind(self) -> str:
        """``membership`` or ``property``."""
        return str(self.about["kind"])

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def attacks(self) -> Mapping[str, RocRecord]:
        """What each attack found: AUC, true positive rates, of how many; empty before the end."""
        if self.result is None:
            return {}
        return self.result.attacks if isinstance(self.result, MembershipResult) else {PROPERTY: self.result}

    @property
    def best(self) -> str | None:
        """The attack with the largest AUC; None before the end."""
        return max(self.attacks, key=lambda name: self.attacks[name].auc.value, default=None)

    @property
    def crossed(self) -> dict[str, list[str]]:
        """Where attacks found more than privacy allows, chance allowed for; empty if all is well."""
        if isinstance(self.result, MembershipResult):
            return self.result.crossed
        return {PROPERTY: self.result.crossed} if self.result is not None and self.result.crossed else {}

    def guarantee(self) -> Guarantee | None:
        """What one of the trainings that are attacked guarantees; None before the end."""
        return None if self.result is None else self.result.guarantee

    def table_rows(self) -> list[dict[str, Any]]:
        """One row for each attack: AUC and true positive rates with intervals, beside the limit."""
        if self.result is None:
            return []
        limit, rates = self.result.limit, ("value", "low", "high")
        return [
            {
                "attack": name,
                **{f"auc.{key}": getattr(found.auc, key) for key in rates},
                "auc.limit": limit.auc,
                **{
                    f"tpr_at_{rate}.{key}": getattr(point.tpr, key)
                    for rate, point in found.tpr_at_fpr.items()
                    for key in rates
                },
                **{f"tpr_at_{rate}.limit": most for rate, most in (limit.tpr_at_fpr or {}).items()},
                "balanced_accuracy": found.best_balanced_accuracy,
                "advantage": found.advantage,
                "positives": found.positives,
                "negatives": found.negatives,
            }
            for name, found in self.attacks.items()
        ]

    def to_pandas(self) -> Any:
        """The same as a table of pandas."""
        return frame(self.table_rows())


def write_curves(files: RunFiles, attacks: Mapping[str, Roc], limit: Limit) -> None:
    """Stores them among the files of a run."""
    arrays = {f"{name}/fpr": roc.fpr for name, roc in attacks.items()}
    arrays |= {f"{name}/tpr": roc.tpr for name, roc in attacks.items()}
    if limit.promised:
        arrays |= {"/fpr": _RATES, "/tpr": limit.most(_RATES)}
    files.write_arrays(NAME, arrays)


def read_curves(directory: Path) -> Curves:
    """What ``write_curves`` stored; nothing if it never did."""
    file = directory / NAME
    if not file.exists():
        return Curves()
    check_arrays(file)
    arrays = read_arrays(file)
    found: dict[str, Curve] = {}
    for key in arrays:
        name, _, which = key.rpartition("/")
        if which != "fpr":
            continue
        fpr, tpr = arrays[key], arrays.get(f"{name}/tpr")
        if tpr is None or fpr.ndim != 1 or fpr.shape != tpr.shape or not len(fpr):
            raise InvalidValue(f"{file} is damaged: it must hold pairs of rates for {name or 'the limit'}")
        found[name] = (fpr, tpr)
    limit = found.pop("", None)
    return Curves(attacks=found, limit=limit)


def read_inference(folder: Path, manifest: Manifest) -> InferenceRecord:
    """Reads the directory of a run whose manifest is of ``fedward infer``."""
    manifest.inference_kind(folder / "run.json")
    result = RunDirectory(folder).result()
    assert result is None or isinstance(result, InferenceResult)  # as its manifest says
    return InferenceRecord(
        path=folder,
        manifest=manifest,
        stored=sum(1 for _ in folder.glob("scores-*-*.npz")),
        result=result,
        curves=read_curves(folder),
    )
