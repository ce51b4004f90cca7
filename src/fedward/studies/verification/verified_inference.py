"""An inference attack computed again from its files: ε, curves, and what was found."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedward.attacks.inference import MembershipInference
from fedward.base.json_lines import replace_non_finite
from fedward.rundir.inference_record import PROPERTY, read_curves
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import InferenceResult, MembershipResult, RocRecord
from fedward.rundir.store import RunDirectory
from fedward.studies.inference.membership_study import prepare_membership
from fedward.studies.stored_data import Library
from fedward.studies.verification.verification import (
    FROM_TRAININGS,
    ROUNDING,
    Contradiction,
    Findings,
    Unverifiable,
    require_near,
    require_same,
)
from fedward.studies.verification.verified_training import verify_claims

_WITH_DATA = "what the attacks find, from what the trainings left"


def verify_inference(findings: Findings, manifest: Manifest, library: Library) -> None:
    """Computes again what the files of an inference attack say, each part by itself."""
    path, result = findings.path, None
    findings.check_scores(sorted(path.glob("scores-*.npz")))
    with findings.step("epsilon", "result.json", "ε of the result, from the ledger"):
        directory = RunDirectory(path)
        found = directory.result()
        assert found is None or isinstance(found, InferenceResult)
        result = found
        if result is not None and directory.spent(manifest, finished=True).problem:
            raise Contradiction(directory.spent(manifest, finished=True).problem)
    verify_claims(findings)
    if result is None:
        return
    if (path / "curves.npz").is_file():
        with findings.step("curves", "curves.npz", "AUC and best accuracy of each attack, from its curve"):
            curves = read_curves(path)
            records = result.attacks if isinstance(result, MembershipResult) else {PROPERTY: result}
            require_same("curves of", sorted(curves.attacks), sorted(records))
            for name, record in records.items():
                _require_curve(name, record, *curves.attacks[name])
    if not isinstance(result, MembershipResult):
        findings.trust("attacks", f"{_WITH_DATA}: a property is not stored with its run")
        return
    with findings.step("attacks", "result.json", _WITH_DATA):
        _require_attacks(findings, manifest, result, library)
    findings.trust("trainings", FROM_TRAININGS)


def _require_curve(name: str, record: RocRecord, fpr: Any, tpr: Any) -> None:
    area, best = float(np.trapezoid(tpr, fpr)), float(((tpr + 1 - fpr) / 2).max())
    for what, stated, found in (
        ("AUC", record.auc.value, area),
        ("best accuracy", record.best_balanced_accuracy, best),
    ):
        if abs(stated - found) > ROUNDING:
            raise Contradiction(f"has a curve of {name} of {what} {found}, and result.json says {stated}")


def _require_attacks(
    findings: Findings, manifest: Manifest, result: MembershipResult, library: Library
) -> None:
    content = {key: value for key, value in manifest.experiment.items() if key != "inference"}
    try:
        experiment, federation = library.load(content)
        question = MembershipInference(unit=result.unit, targets=result.targets, shadows=result.shadows)  # type: ignore[arg-type]  # checked by it
        study = prepare_membership(experiment, question, federation=federation)
    except ValueError as error:
        raise Unverifiable(str(error)) from error
    found = replace_non_finite(study.judge_stored(findings.path)[0].to_json())
    stated = result.to_json()
    for key, value in found.items():
        if key not in ("limit", "crossed"):
            require_near(key, stated.get(key), value)
