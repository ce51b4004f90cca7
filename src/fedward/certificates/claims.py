"""The claims of a certification: what is going to be certified, fixed before any replica is trained."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.base.validate import InvalidValue, one_of, whole
from fedward.certificates.claims_draw import CostClaims, draw_of_claims
from fedward.certificates.confidence import ANY_TIME, OF_COUNTS, Confidence
from fedward.certificates.others import DisjointGroups, Proof, RandomGroups
from fedward.certificates.others.certain import EXACT, Certain, Rule
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
      until: numbers of attackers about which all examples shall be decided: then no more replicas are
        trained, however large M is. With ``betting_votes`` alone, which holds whenever somebody stops.
      by: another proof than fedward's own. Then attackers may come in every round; models of groups vote, and
        with disjoint groups there are as many models as groups.
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
    until: tuple[int, ...] = ()
    by: Proof | None = None

    def __post_init__(self) -> None:
        if self.by is not None:
            self._follow(self.by)
        one_of("score", self.score, SCORES)
        _ = self.rule
        for k in self.until:
            whole("attackers to decide about", k)
        if self.until and (self.score != "vote" or not {self.method} <= {*ANY_TIME} & {*OF_COUNTS}):
            raise InvalidValue(
                "stopping once examples are decided needs votes and a bound that holds at any time "
                f"(--score vote --method betting_votes), got {self.score} and {self.confidence.method}"
            )

    def _follow(self, by: Proof) -> None:
        """Fixes what the proof fixes, and refuses what it has no use for."""
        if self.until or self.earlier:
            raise InvalidValue(f"stopping early belongs to fedward's own certificates, got it with {by}")
        object.__setattr__(self, "attendance", "every-round")
        if isinstance(by, DisjointGroups | RandomGroups):
            object.__setattr__(self, "score", "vote")
        if isinstance(by, DisjointGroups):
            object.__setattr__(self, "replicas", by.groups)
            if self.method not in (None, EXACT):
                raise InvalidValue(f"votes of disjoint groups are counted, got method {self.method!r}")

    @property
    def rule(self) -> Rule:
        """How sure it is: certain for the votes of disjoint groups, else a confidence."""
        if isinstance(self.by, DisjointGroups):
            return Certain(looks=(self.by.groups,))
        return self.confidence

    @property
    def confidence(self) -> Confidence:
        """How means over the replicas are bounded."""
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
            self.rule,
            score=self.score,
            threats=self.threats,
            attendance=self.attendance,
            costs=costs,
            by=None if self.by is None else self.by.to_json(),
        )
