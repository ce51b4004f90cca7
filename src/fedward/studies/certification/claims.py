"""The claims of a certification: what is going to be certified, fixed before any replica is trained."""

from __future__ import annotations

from dataclasses import dataclass

from fedward.base.validate import InvalidValue, one_of
from fedward.certificates.claims_draw import CostClaims, draw_of_claims
from fedward.certificates.confidence import Confidence
from fedward.certificates.replica_scores import SCORES, Score
from fedward.certificates.setting import Setting
from fedward.certificates.threat import Attendance, Behaviour, certifiable_algorithm
from fedward.core.digest import data_digest, tensor_digest
from fedward.core.parameters import ParameterSpec
from fedward.privacy.group import Threat
from fedward.privacy.ledger import Ledger
from fedward.studies.training.setup import Setup


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

    def setting(self, setup: Setup, data: str | None = None) -> Setting:
        """What a certificate of this experiment is about; raises, with the reason, if there can be none.

        ``data`` is the digest of its data, where it has been computed before.
        """
        ledger = planned_ledger(setup)
        # Poisoned examples can only be certified against users that keep to the protocol: see `certifiable`.
        behaviour = self.behaviour or ("data" if ledger.unit == "example" else "anything")
        spec = ParameterSpec.of(setup.model)
        return Setting(
            ledger=ledger,
            users=setup.federation.num_users,
            confidence=self.confidence,
            delta=setup.delta,
            initial_model=tensor_digest(spec.flatten(setup.model)),
            data=data or data_digest(setup.federation),
            threats=self.threats,
            attendance=self.attendance,
            behaviour=behaviour,
            accountant="rdp" if setup.accountant == "rdp" else "pld",
        )


def planned_ledger(setup: Setup) -> Ledger:
    """What one training spends: the server's ledger, or that of a user who is drawn in every round."""
    algorithm, rounds = setup.algorithm, setup.experiment.rounds
    if setup.experiment.make_budget(algorithm, setup.federation) is not None:
        raise InvalidValue("a certificate needs trainings of the same length, got a budget that may end them")
    if algorithm.accounting != "users":
        certifiable_algorithm(algorithm)
    return algorithm.spent(setup.federation.num_users, rounds)
