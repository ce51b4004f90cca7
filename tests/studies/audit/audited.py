"""Small audits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedward.auditing.audit_question import AuditQuestion
from fedward.backends.compute import IN_PROCESS
from fedward.config.experiment import from_content
from fedward.rundir.audit_result import AuditResult
from fedward.studies.audit.audit_study import AuditStudy, plan_audit
from fedward.studies.audit.audited_claim import UNCHANGED, Change
from fedward.studies.audit.self_test import SOUND, with_changes
from fedward.studies.study import carry_out

DP_SGD: dict[str, Any] = {
    "name": "dp_sgd",
    "learning_rate": 0.1,
    "probability": 0.5,
    "expected_batch": 1.0,
    "steps": 1,
    "noise_multiplier": 1.0,
    "clip_bound": 1.0,
}
INSDP: dict[str, Any] = {
    "algorithm": {"preset": "insdp_fedavg", "clip_bound": None, "noise_multiplier": None, "local": DP_SGD}
}


def study_of(changes: Mapping[str, Any], question: AuditQuestion, change: Change = UNCHANGED) -> AuditStudy:
    """The study of the sound experiment with other values in it."""
    return plan_audit(from_content(with_changes(SOUND, changes)), question, change=change)


def audited(
    path: Path, changes: Mapping[str, Any], question: AuditQuestion, change: Change = UNCHANGED
) -> AuditResult:
    """What the study finds."""
    study = study_of(changes, question, change)
    return carry_out(study, path, IN_PROCESS, lambda steps: [None for _ in steps])
