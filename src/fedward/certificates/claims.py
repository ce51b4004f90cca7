"""The claims of a certification: what is going to be certified, fixed before any replica is trained."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.base.validate import one_of
from fedward.certificates.claims_draw import CostClaims, draw_of_claims
from fedward.certificates.confidence import Confidence
from fedward.certificates.replica_scores import SCORES, Score
from fedward.certificates.threat import Attendance, Behaviour
from fedward.privacy.group import Threat


@dataclass(frozen=True, kw_only=True)
class Claims:
    """What is going to be certified, fixed before any replica is run.

    Args:
      replicas: M.
      earlier: at which smaller numbers of replicas somebody looked before; only ``betting_sequence`` may.
      threats: against which attacks.
      attendance, behaviour: what is assumed about the attackers.
      score: ``confidence`` or ``vote``.
      method, error, simultaneous: how the means over the replicas are bounded, as in ``Confidence``.
    """

    replicas: int
    earlier: tuple[int, ...] = ()
    threats: tuple[Threat, ...] = ("inject", "present", "compromise")
    attendance: Attendance = "drawn"
    behaviour: Behaviour | None = None
    score: Score = "confidence"
    method: str | None = None
    error: float = 0.01
    simultaneous: bool = False

    def __post_init__(self) -> None:
        one_of("score", self.score, SCORES)
        _ = self.confidence

    @property
    def confidence(self) -> Confidence:
        method = self.method or ("betting" if self.score == "confidence" else "clopper_pearson")
        return Confidence(
            looks=(*self.earlier, self.replicas),
            method=method,
            error=self.error,
            simultaneous=self.simultaneous,
        )

    def draw(self, costs: CostClaims | None = None) -> str:
        """The draw whose replicas these claims are about; with ``costs`` they are about an attack's cost."""
        return draw_of_claims(
            self.confidence,
            score=self.score,
            threats=self.threats,
            attendance=self.attendance,
            costs=costs,
        )
