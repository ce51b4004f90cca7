"""The choice of a study for what an audit asks."""

from __future__ import annotations

from pathlib import Path

from fedward.auditing.audit_question import AuditQuestion
from fedward.config.experiment import Experiment
from fedward.studies.audit.audited_claim import UNCHANGED, Change, plan_claim
from fedward.studies.audit.many_trainings import ManyTrainingsAudit
from fedward.studies.audit.one_training import OneTrainingAudit

AuditStudy = ManyTrainingsAudit | OneTrainingAudit


def plan_audit(
    experiment: Experiment,
    question: AuditQuestion,
    data_dir: Path | None = None,
    change: Change = UNCHANGED,
) -> AuditStudy:
    """Loads the data and makes every part; whatever cannot be audited is an error here."""
    claim = plan_claim(experiment, data_dir, change)
    if question.mode == "one-run":
        return OneTrainingAudit(claim=claim, question=question)
    return ManyTrainingsAudit(claim=claim, question=question)
