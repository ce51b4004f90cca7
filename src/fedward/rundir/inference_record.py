"""A run directory of ``fedward infer``, read into values."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fedward.base.validate import InvalidValue
from fedward.privacy import Guarantee
from fedward.privacy.caveats import with_caveat
from fedward.rundir.inference_curves import Curves, read_curves
from fedward.rundir.record_files import frame
from fedward.rundir.store import RunDirectory
from fedward.rundir.weights_origin import caveat_of

PROPERTY = "property inference"
_REMEDY = "remove result.json, and the same command makes it again"


@dataclass(frozen=True, kw_only=True, eq=False)
class InferenceRecord:
    """A run of ``fedward infer membership`` or ``fedward infer property``, finished or not.

    Attributes:
      path: its directory.
      manifest: what is attacked, and how, as in ``run.json``.
      stored: how many trainings, or rounds of the one that is watched, are stored.
      result: what the attacks found; None if the run is not finished.
      curves: the ROC curve of each attack, and what privacy allows; empty for runs of fedward 0.1.
    """

    path: Path
    manifest: dict[str, Any]
    stored: int = 0
    result: dict[str, Any] | None = None
    curves: Curves = field(default_factory=Curves)

    @property
    def experiment(self) -> dict[str, Any]:
        """The experiment that is attacked, table by table."""
        found: dict[str, Any] = self.manifest["experiment"]
        return {key: value for key, value in found.items() if key != "inference"}

    @property
    def about(self) -> dict[str, Any]:
        """Which attack it is: its kind, and what decides what it sees."""
        found: dict[str, Any] = self.manifest["experiment"]["inference"]
        return found

    @property
    def kind(self) -> str:
        """``membership`` or ``property``."""
        return str(self.about["kind"])

    @property
    def finished(self) -> bool:
        return self.result is not None

    @property
    def attacks(self) -> dict[str, dict[str, Any]]:
        """What each attack found: AUC, true positive rates, of how many; empty before the end."""
        if self.result is None:
            return {}
        found: dict[str, dict[str, Any]] = (
            self.result["attacks"] if self.kind == "membership" else {PROPERTY: self.result}
        )
        return found

    @property
    def best(self) -> str | None:
        """The attack with the largest AUC; None before the end."""
        return max(self.attacks, key=lambda name: float(self.attacks[name]["auc"]["value"]), default=None)

    @property
    def crossed(self) -> dict[str, list[str]]:
        """Where attacks found more than privacy allows, chance allowed for; empty if all is well."""
        found = (self.result or {}).get("crossed") or {}
        return found if isinstance(found, dict) else {PROPERTY: found}

    def guarantee(self) -> Guarantee | None:
        """What one of the trainings that are attacked guarantees; None before the end."""
        if self.result is None:
            return None
        return with_caveat(Guarantee.from_json(self.result["guarantee"]), caveat_of(self.manifest))

    def to_pandas(self) -> Any:
        """One row for each attack: AUC and true positive rates with intervals, beside the limit."""
        limit = (self.result or {}).get("limit", {})
        return frame(
            [
                {
                    "attack": name,
                    **{f"auc.{key}": found["auc"][key] for key in ("value", "low", "high")},
                    "auc.limit": limit["auc"],
                    **{
                        f"tpr_at_{rate}.{key}": point["tpr"][key]
                        for rate, point in found["tpr_at_fpr"].items()
                        for key in ("value", "low", "high")
                    },
                    **{f"tpr_at_{rate}.limit": most for rate, most in (limit["tpr_at_fpr"] or {}).items()},
                    "balanced_accuracy": found["best_balanced_accuracy"],
                    "advantage": advantage(found),
                    "positives": found["positives"],
                    "negatives": found["negatives"],
                }
                for name, found in self.attacks.items()
            ]
        )


def advantage(attack: dict[str, Any]) -> float:
    """TPR - FPR at the best threshold: 0 by guessing, 1 for an attack that is always right.

    >>> advantage({"best_balanced_accuracy": 0.75})
    0.5
    """
    return 2 * float(attack["best_balanced_accuracy"]) - 1


def read_inference(folder: Path, manifest: dict[str, Any]) -> InferenceRecord:
    """Reads the directory of a run whose manifest is of ``fedward infer``."""
    record = InferenceRecord(
        path=folder,
        manifest=manifest,
        stored=sum(1 for _ in folder.glob("scores-*-*.npz")),
        result=RunDirectory(folder).result(),
        curves=read_curves(folder),
    )
    if record.about.get("kind") not in ("membership", "property"):
        raise InvalidValue(f"{folder / 'run.json'} is damaged: it does not say which attack it is of")
    if record.result is not None:
        try:
            _use(record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            raise InvalidValue(f"{folder / 'result.json'} is damaged ({what}); {_REMEDY}") from error
    return record


def _use(record: InferenceRecord) -> None:
    """Everything that readers of a record count on."""
    assert record.result is not None
    limit, _ = record.result["limit"], record.guarantee()
    _interval({"value": limit["auc"] or 0, "low": 0, "high": 0})
    for most in (limit["tpr_at_fpr"] or {}).values():
        float(most)
    str(limit["about"])
    if record.kind == "membership":
        str(record.about["unit"])
        int(record.result["targets"])
        int(record.result["shadows"])
        float(record.result["member_loss"])
        float(record.result["other_loss"])
    for found in record.attacks.values():
        _interval(found["auc"])
        for point in found["tpr_at_fpr"].values():
            _interval(point["tpr"])
            _interval(point["fpr"])
        list(map(float, found["unresolved_fpr"]))
        advantage(found)
        int(found["positives"])
        int(found["negatives"])
    if not record.attacks or not all(isinstance(where, list) for where in record.crossed.values()):
        raise ValueError("it says nothing about any attack")


def _interval(found: dict[str, Any]) -> None:
    for key in ("value", "low", "high"):
        float(found[key])
