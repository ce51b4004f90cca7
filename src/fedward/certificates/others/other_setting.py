"""The setting of a certificate by another proof: the trainings, the attackers and the confidence."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fedward.base.validate import InvalidType, InvalidValue, one_of, open_unit, whole
from fedward.certificates.others import DisjointGroups, ParameterSmoothing, Proof, RandomGroups
from fedward.certificates.others.certain import Certain, Rule
from fedward.certificates.others.parameter_smoothing import SmoothedRound
from fedward.certificates.prediction import MOST
from fedward.certificates.setting import ACCOUNTANTS
from fedward.certificates.threat import Attendance, Behaviour, ThreatModel, certifiable
from fedward.privacy.accounting_events import GaussianDpEvent
from fedward.privacy.group import THREATS, Threat
from fedward.privacy.guarantee import Guarantee, text
from fedward.privacy.ledger import Ledger
from fedward.privacy.remembered import guarantee_or_rdp

NO_EPSILON = (
    "it rests on groups of users, which hide nobody; noise that a training may have had is not counted"
)
"""Why nothing is promised about privacy where users are put into groups."""


@dataclass(frozen=True, kw_only=True)
class OtherSetting:
    """What a certificate by another proof is about. It refuses what the proof does not cover.

    Args:
      by: the proof.
      ledger: what one training spent; where users are put into groups it says why there is no guarantee.
      users: N, how many users there are.
      confidence: how the votes are bounded; ``Certain`` for disjoint groups.
      delta, accountant: at which δ, and by which accountant, the ε of all trainings is stated.
      initial_model: a digest of the model that all of them start from.
      data: a digest of the federation and its test set.
      threats: which attacks are certified against.
      attendance: ``every-round``: no proof here counts on the drawing of attackers.
      behaviour: what is assumed about the attackers.
      step: what a round without attackers does, where parameters are smoothed.
    """

    by: Proof
    ledger: Ledger
    users: int
    confidence: Rule
    delta: float
    initial_model: str
    data: str
    threats: tuple[Threat, ...] = ("inject", "present", "compromise")
    attendance: Attendance = "every-round"
    behaviour: Behaviour = "anything"
    accountant: str = "pld"
    step: SmoothedRound | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", int(whole("number of users", self.users)))
        open_unit("delta", self.delta)
        one_of("accountant", self.accountant, ACCOUNTANTS)
        for name in ("initial_model", "data"):
            if not text(f"digest of the {name.replace('_', ' ')}", getattr(self, name)):
                raise InvalidValue(f"digest of the {name.replace('_', ' ')} must not be empty")
        if not isinstance(self.threats, list | tuple):
            raise InvalidType(f"threats must be a list, got {self.threats!r}")
        object.__setattr__(self, "threats", tuple(self.threats))
        for threat in self.threats:
            one_of("threat", threat, THREATS)
        if not self.threats or len(set(self.threats)) < len(self.threats):
            raise InvalidValue(f"threats must be one or more different ones, got {self.threats}")
        one_of("attendance", self.attendance, ("every-round",))
        one_of("behaviour", self.behaviour, ("anything",))
        if isinstance(self.confidence, Certain) != isinstance(self.by, DisjointGroups):
            raise InvalidValue(f"votes are certain where groups are disjoint and nowhere else, got {self.by}")
        if isinstance(self.by, DisjointGroups) and self.confidence.replicas != self.by.groups:
            raise InvalidValue(
                f"number of models must be that of the groups, {self.by.groups}, got "
                f"{self.confidence.replicas}"
            )
        if isinstance(self.by, ParameterSmoothing):
            for threat in self.threats:
                certifiable(self.ledger, ThreatModel(threat=threat, attendance="every-round"), self.users)
            self.by.acts(self.rounds)
            _ = self.noise_multiplier
            return
        if not self.ledger.reason:
            raise InvalidValue("groups of users have no guarantee, got a ledger that says nothing against it")
        if isinstance(self.by, RandomGroups):
            self.by.require_fits(self.users)
        if self.step is not None:
            raise InvalidValue(f"a step belongs to smoothed parameters, got one with {self.by}")

    @property
    def rounds(self) -> int:
        return self.ledger.rounds

    @property
    def noise_multiplier(self) -> float:
        """z, the same in every round."""
        found = {
            event.noise_multiplier if isinstance(event, GaussianDpEvent) else None
            for event, _ in self.ledger.spending
        }
        if len(found) != 1 or None in found:
            raise InvalidValue(
                "a certificate by smoothed parameters needs everybody in every round and one noise "
                f"multiplier (sampler everyone, preset user_dp_fedavg), got {self.ledger.sampling}"
            )
        (noise,) = found
        assert noise is not None
        return float(noise)

    def most(self, threat: Threat) -> int:
        """The last k to try: no more users can be attackers than there are."""
        return MOST if threat == "inject" else min(MOST, self.users)

    def releasing_all(self) -> Guarantee:
        """What releasing all models, or anything computed from them, guarantees."""
        trainings = self.confidence.replicas
        if self.ledger.reason:
            return self.ledger.guarantee(self.delta, self.accountant)
        together = guarantee_or_rdp(self.ledger.repeated(trainings), self.delta, self.accountant)
        return replace(together, caveat=f"all {trainings:,} trainings together")
