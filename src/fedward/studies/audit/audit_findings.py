"""The result of an audit, from its bounds: the verdict, and the sentence about it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fedward.auditing.audit_question import AuditQuestion
from fedward.base.validate import InvalidValue
from fedward.privacy.accountants import ACCOUNTANTS, epsilon_of
from fedward.privacy.rounding import round_up
from fedward.privacy.spending import is_fixed_size
from fedward.rundir.audit_result import AuditResult, BoundRecord
from fedward.studies.audit.audited_claim import AuditedClaim

PASS_PROVES_NOTHING = "a pass proves nothing: another attack may find more"
_SEEN = {
    (
        "rounds",
        "server",
    ): "the attacker sees the model and the clip bound after every round, and not who took part",
    (
        "rounds",
        "users",
    ): "the attacker sees what the user sends in every round, and takes part in none itself",
    ("rounds", "aggregate"): "the attacker sees the model after every round, and no user's own row",
    ("final", "server"): "the attacker sees the last model alone",
    ("final", "users"): "the attacker sees the last model alone",
    ("final", "aggregate"): "the attacker sees the last model alone",
}


def audit_result(
    claim: AuditedClaim,
    question: AuditQuestion,
    bounds: Sequence[BoundRecord],
    estimate: float,
    attack: str,
    canaries: int | None = None,
) -> AuditResult:
    """The record of an audit; bounds must hold together but for the error that was asked for."""
    promised = claim.guarantee
    largest = max(bounds, key=lambda bound: bound.epsilon)
    violated = largest.epsilon > promised.epsilon
    seen = [_SEEN[question.see, claim.algorithm.accounting]]
    if claim.algorithm.participation is not None and question.mode == "mechanism":
        seen.append("the attacker knows in which rounds a user's turn is: the schema is public")
    return AuditResult(
        guarantee=promised,
        statement=str(promised),
        mode=question.mode,
        see=question.see,
        runs=1 if question.mode == "one-run" else question.runs,
        canaries=canaries,
        error=question.error,
        claimed=promised.epsilon,
        lower_bound=largest.epsilon,
        bounds=list(bounds),
        estimate=estimate if math.isfinite(estimate) else None,
        verdict="violation" if violated else "no violation",
        sentence=verdict_sentence(largest.epsilon, promised.epsilon, question.error, violated),
        assumptions=[*filter(None, [largest.assumes]), *seen],
        accountants=promises(claim),
        attack=attack,
    )


def verdict_sentence(bound: float, claimed: float, error: float, violated: bool) -> str:
    """
    >>> verdict_sentence(4.2849, 5.8361, 0.05, False)
    'no violation found: measured at least 4.28, promised 5.84, at 95 %'
    >>> verdict_sentence(7.0, 5.8361, 0.05, True)
    'VIOLATION: measured at least 7.00, promised 5.84, at 95 %'
    """
    found = "VIOLATION" if violated else "no violation found"
    least = math.floor(bound * 100 + 1e-9) / 100
    return (
        f"{found}: measured at least {least:.2f}, promised {round_up(claimed, 2)}, at {100 * (1 - error):g} %"
    )


def promises(claim: AuditedClaim) -> dict[str, float | None]:
    """ε by each accountant that has a proof for the claim; None where it is infinite."""
    ledger, found = claim.ledger, {}
    for name in ACCOUNTANTS:
        if name == "moments" and is_fixed_size(claim.family.parts):
            continue  # the papers' figure, and no promise
        try:
            epsilon = epsilon_of(ledger.spending, claim.setup.delta, name, ledger.adjacency)
        except InvalidValue:  # it has no proof for this sampling, or too little noise
            continue
        found[name] = epsilon if math.isfinite(epsilon) else None
    return found
