"""The goal of a plan: how many attackers a future training must provably survive, within what ε."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.base.validate import InvalidValue, open_unit, positive, rate, whole
from fedward.certificates.confidence import Confidence
from fedward.certificates.replica_scores import Score
from fedward.certificates.threat import Attendance, ThreatModel
from fedward.privacy.group import Threat

# How a plan's certificate is computed: of all ways the one that needs the fewest replicas.
SCORE: Score = "vote"
METHOD = "clopper_pearson"


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a training is wanted to certify, and what it may spend.

    Args:
      users: N, how many users there are.
      k: how many attackers it must survive.
      epsilon: what one training may spend at most; None if that does not matter.
      delta: δ of every ε; N^-1.1 if not given, at most 0.01.
      threat, attendance: as in ``ThreatModel``.
      share: of the test examples, how many should be right and certified against k.
      error: ψ, the probability with which a certificate may fail.
      classes: how many classes there are: with more of them, bounds are wider.
      replicas: M; None if the plan may choose it.

    >>> Goal(users=200, k=300, threat="present")
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: k must be at most the number of users, 200, got 300
    """

    users: int
    k: int
    epsilon: float | None = None
    delta: float | None = None
    threat: Threat = "inject"
    attendance: Attendance = "drawn"
    share: float = 0.5
    error: float = 0.01
    classes: int = 10
    replicas: int | None = None

    def __post_init__(self) -> None:
        whole("number of users", self.users)
        whole("k", self.k)
        rate("share", self.share)
        open_unit("error", self.error)
        whole("number of classes", self.classes, at_least=2)
        _ = self.model
        if self.threat != "inject" and self.k > self.users:
            raise InvalidValue(f"k must be at most the number of users, {self.users}, got {self.k}")
        if self.epsilon is not None:
            positive("epsilon", self.epsilon)
        if self.delta is not None:
            open_unit("delta", self.delta)
        if self.replicas is not None:
            whole("replicas", self.replicas)

    @property
    def model(self) -> ThreatModel:
        return ThreatModel(threat=self.threat, attendance=self.attendance)

    @property
    def own_delta(self) -> float:
        """δ, or the default of experiment files for so many users."""
        return self.delta if self.delta is not None else min(0.01, float(self.users**-1.1))

    def confidence(self, replicas: int) -> Confidence:
        """How the votes of M replicas are bounded."""
        return Confidence(looks=(replicas,), method=METHOD, error=self.error)

    @property
    def each(self) -> float:
        """The probability with which one bound may fail."""
        return self.confidence(1).each(self.classes, 1)
