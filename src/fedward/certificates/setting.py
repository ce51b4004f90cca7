"""The setting of a certificate: the training, the attackers and the confidence, fixed beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fedward.base.validate import InvalidType, InvalidValue, one_of, open_unit, whole
from fedward.certificates.confidence import Confidence
from fedward.certificates.prediction import MOST
from fedward.certificates.threat import Attendance, Behaviour, ThreatModel, certifiable
from fedward.privacy.group import Threat
from fedward.privacy.guarantee import Guarantee, text
from fedward.privacy.ledger import Ledger
from fedward.privacy.remembered import guarantee_or_rdp
from fedward.privacy.spending import Mechanisms

# The papers' accountant is not for what fedward itself states.
ACCOUNTANTS = ("pld", "rdp")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The training that was repeated M times and what is certified about it.

    It refuses what no certificate covers, with the reason (``certifiable``).

    Args:
      ledger: what *one* of the trainings spent.
      users: N, how many users there are.
      threats: which attacks are certified against.
      attendance, behaviour: what is assumed about the attackers.
      confidence: how the means over the replicas are bounded.
      delta: at which δ the ε of releasing all M trainings is stated.
      accountant: by which accountant: ``pld`` (``rdp`` takes over where ε is beyond it) or ``rdp``.
      initial_model: a digest of the model that all replicas start from.
      data: a digest of the federation and its test set.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    >>> ledger = ledger.charged(PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), 3)
    >>> setting = Setting(ledger=ledger, users=200, confidence=Confidence(looks=(100,)), delta=0.0029,
    ...                   initial_model="c0ffee", data="f00d")
    >>> setting.releasing_all().rounds, round(setting.releasing_all().epsilon, 2)
    (300, 1.47)
    """

    ledger: Ledger
    users: int
    confidence: Confidence
    delta: float
    initial_model: str
    data: str
    threats: tuple[Threat, ...] = ("inject", "present", "compromise")
    attendance: Attendance = "drawn"
    behaviour: Behaviour = "anything"
    accountant: str = "pld"

    def __post_init__(self) -> None:
        object.__setattr__(self, "users", int(whole("number of users", self.users)))
        open_unit("delta", self.delta)
        one_of("accountant", self.accountant, ACCOUNTANTS)
        for name, kind in (("ledger", Ledger), ("confidence", Confidence)):
            if not isinstance(getattr(self, name), kind):
                raise InvalidType(f"{name} must be a {kind.__name__}, got {getattr(self, name)!r}")
        for name in ("initial_model", "data"):
            if not text(f"digest of the {name.replace('_', ' ')}", getattr(self, name)):
                raise InvalidValue(f"digest of the {name.replace('_', ' ')} must not be empty")
        if not isinstance(self.threats, list | tuple):
            raise InvalidType(f"threats must be a list, got {self.threats!r}")
        object.__setattr__(self, "threats", tuple(self.threats))
        for threat in self.threats:
            certifiable(self.ledger, self._model(threat), self.users)
        if not self.threats or len(set(self.threats)) < len(self.threats):
            raise InvalidValue(f"threats must be one or more different ones, got {self.threats}")

    @property
    def spending(self) -> Mechanisms:
        """What the curves of a group are computed from."""
        return certifiable(self.ledger, self._model(self.threats[0]))

    def most(self, threat: Threat) -> int:
        """The last k to try: no more users can be attackers than there are."""
        if threat == "inject" or self.ledger.unit == "example":
            return MOST
        return min(MOST, self.users)

    def releasing_all(self) -> Guarantee:
        """What releasing all M trainings, or anything computed from them, guarantees."""
        trainings = self.confidence.replicas
        together = guarantee_or_rdp(self.ledger.repeated(trainings), self.delta, self.accountant)
        return replace(together, caveat=f"all {trainings:,} trainings together")

    def _model(self, threat: Threat) -> ThreatModel:
        return ThreatModel(threat=threat, attendance=self.attendance, behaviour=self.behaviour)
