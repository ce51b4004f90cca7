"""The files of an audit that do not depend on how it attacks."""

from __future__ import annotations

from typing import Any

from fedward.privacy import ledger_file
from fedward.rundir.audit_result import AuditResult
from fedward.rundir.manifest import Manifest
from fedward.rundir.store import RunDirectory
from fedward.studies.audit.audited_claim import AuditedClaim
from fedward.studies.training.training_study import manifest


def audit_manifest(claim: AuditedClaim, about: dict[str, Any], engine: str) -> Manifest:
    """The manifest of the experiment, and of how it is audited."""
    found = manifest(claim.setup, engine)
    return found.model_copy(update={"experiment": {**found.experiment, "audit": about}})


def save_audit(place: RunDirectory, claim: AuditedClaim, result: AuditResult) -> None:
    """Stores the claim and, last, what was found."""
    place.files.write("ledger.json", ledger_file.dumps(claim.ledger).encode())
    place.save_result(result)
