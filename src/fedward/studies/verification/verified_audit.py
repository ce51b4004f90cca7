"""An audit verified from its files: ε of its claim, and a verdict that agrees with its bounds."""

from __future__ import annotations

from fedward.rundir.audit_result import AuditResult
from fedward.rundir.manifest import Manifest
from fedward.rundir.store import RunDirectory
from fedward.studies.verification.verification import Contradiction, Findings
from fedward.studies.verification.verified_training import verify_claims


def verify_audit(findings: Findings, manifest: Manifest) -> None:
    """Computes the claim again; reading the result refuses a verdict that is not that of its bounds."""
    with findings.step(
        "epsilon", "result.json", "ε of the claim, from the ledger, and the verdict, from the bounds"
    ):
        directory = RunDirectory(findings.path)
        found = directory.result()
        assert found is None or isinstance(found, AuditResult)
        if found is not None and directory.spent(manifest, finished=True).problem:
            raise Contradiction(directory.spent(manifest, finished=True).problem)
    verify_claims(findings)
    findings.trust(
        "trainings", "that the bounds come from these trainings: the same command judges them again"
    )
