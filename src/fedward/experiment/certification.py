"""From the replicas of a run to certificates, and to the curves that people look at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedward.certify.certificate import Certificate, certify
from fedward.certify.claims_draw import CostClaims, draw_of_claims
from fedward.certify.confidence import Confidence
from fedward.certify.paper import equation_6, theorem_2
from fedward.certify.prediction import certified_k
from fedward.certify.replicas import SCORES, Score
from fedward.certify.setting import Setting
from fedward.certify.tally import Scores
from fedward.certify.threat import Attendance, Behaviour, ThreatModel, certifiable, certifiable_algorithm
from fedward.core.parameters import ParameterSpec
from fedward.core.validate import InvalidValue, one_of
from fedward.experiment.digest import data_digest, tensor_digest
from fedward.experiment.setup import Setup
from fedward.experiment.weights_origin import with_caveat
from fedward.privacy.group import Threat
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.ledger import Ledger

Mode = Literal["paper", "inject", "present", "compromise"]


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


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Certified accuracy at k = 0, 1, 2, ...: the share of test examples that are right and certified.

    Args:
      mode: ``paper`` (theorem 2 by the papers' accountant), or a threat under fedward's own bounds.
      sure: whether the means over the replicas are bounded with confidence, or taken as they are.
      accuracy: at each k, up to the last at which anything is certified.
      most: the largest k that is certified for any example, right or wrong; None if not even k = 0 is.
    """

    mode: Mode
    sure: bool
    accuracy: tuple[float, ...]
    most: int | None

    def largest(self, share: float) -> int | None:
        """The largest k at which certified accuracy is at least ``share``; None if there is none.

        >>> Curve(mode="inject", sure=True, accuracy=(0.9, 0.85, 0.4), most=2).largest(0.8)
        1
        """
        reached = [k for k, accuracy in enumerate(self.accuracy) if accuracy >= share]
        return max(reached, default=None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Certified:
    """A certificate, the replicas it was computed from, and its curves beside the paper's.

    Args:
      certificate: by fedward's own bounds.
      replicas: what it was computed from.
      curves: certified accuracy in every mode, with confidence and without.
      guarantee: of one training.
      papers_guarantee: of one training by the papers' accountant; None where that has no answer.
      releasing_all: of all trainings together.
    """

    certificate: Certificate
    replicas: Scores
    curves: tuple[Curve, ...]
    guarantee: Guarantee
    papers_guarantee: Guarantee | None
    releasing_all: Guarantee

    @property
    def epsilon(self) -> float:
        return self.guarantee.epsilon

    @property
    def papers_epsilon(self) -> float | None:
        return None if self.papers_guarantee is None else self.papers_guarantee.epsilon

    def curve(self, mode: Mode, *, sure: bool) -> Curve | None:
        return next((c for c in self.curves if c.mode == mode and c.sure == sure), None)


def certified(setting: Setting, replicas: Scores, caveat: str = "") -> Certified:
    """The certificate of a setting, and certified accuracy in every mode, with confidence and without.

    Args:
      caveat: what every ε must be read with, such as where initial weights come from. The certificate itself
        is about one initial model, wherever that comes from.
    """
    if replicas.labels is None:
        raise InvalidValue("certified accuracy needs labels, and these replicas have none")
    certificate = certify(setting, replicas)
    curves = [
        Curve(mode=attack.threat, sure=True, accuracy=attack.accuracy or (), most=_most(attack.k))
        for attack in certificate.attacks
    ]
    top, best, second = averages(replicas)
    right = top == replicas.labels
    for threat in setting.threats:
        spending = certifiable(setting.ledger, _model(setting, threat))
        k = certified_k(best, second, spending, threat, most=setting.most(threat))
        curves.append(Curve(mode=threat, sure=False, accuracy=_accuracy(k, right), most=_most(k)))
    papers = papers_guarantee(setting)
    if papers is not None:
        for sure in (True, False):
            k = _paper_k(setting, replicas, best, second, papers.epsilon, sure=sure)
            curves.append(Curve(mode="paper", sure=sure, accuracy=_accuracy(k, right), most=_most(k)))
    return Certified(
        certificate=certificate,
        replicas=replicas,
        curves=tuple(curves),
        guarantee=with_caveat(setting.ledger.guarantee(setting.delta, setting.accountant), caveat),
        papers_guarantee=None if papers is None else with_caveat(papers, caveat),
        releasing_all=with_caveat(certificate.releasing_all, caveat),
    )


def averages(
    replicas: Scores,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The class with the largest mean score, that mean, and the largest mean of any other class."""
    means = replicas.means()
    order = np.sort(means, axis=1)
    return means.argmax(axis=1), order[:, -1], order[:, -2]


def _model(setting: Setting, threat: Threat) -> ThreatModel:
    return ThreatModel(threat=threat, attendance=setting.attendance, behaviour=setting.behaviour)


def papers_guarantee(setting: Setting) -> Guarantee | None:
    """That of one training by the papers' accountant; None where it has no answer."""
    if setting.attendance != "drawn":
        return None
    try:
        return setting.ledger.guarantee(setting.delta, "moments")
    except InvalidValue:
        return None


def _paper_k(
    setting: Setting,
    replicas: Scores,
    best: NDArray[np.float64],
    second: NDArray[np.float64],
    epsilon: float,
    *,
    sure: bool,
) -> NDArray[np.int64]:
    found = []
    for top, runner_up in zip(best.tolist(), second.tolist(), strict=True):
        if sure:
            top, runner_up = equation_6(top, runner_up, len(replicas), setting.confidence.error)
        bound = theorem_2(top, runner_up, epsilon, setting.delta)
        found.append(-1 if bound <= 0 else min(math.ceil(bound) - 1, setting.most("inject")))
    return np.array(found, dtype=np.int64)


def _accuracy(k: NDArray[np.int64], right: NDArray[np.bool_]) -> tuple[float, ...]:
    reached = k[right]
    return tuple(int((reached >= j).sum()) / len(k) for j in range(max(0, int(k.max())) + 1))


def _most(k: NDArray[np.int64]) -> int | None:
    largest = int(k.max())
    return None if largest < 0 else largest
