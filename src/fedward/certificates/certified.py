"""Certified accuracy against k: a certificate and its curves, in every mode, with and without confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fedward.base.validate import InvalidValue
from fedward.certificates.ceiling import Ceiling, ceilings
from fedward.certificates.certificate import Certificate, certify
from fedward.certificates.others.any_certificate import AnySetting
from fedward.certificates.others.other_certificate import certify_other
from fedward.certificates.paper import equation_6, theorem_2
from fedward.certificates.prediction import certified_k
from fedward.certificates.setting import Setting
from fedward.certificates.tally import Scores
from fedward.certificates.threat import ThreatModel, certifiable
from fedward.privacy.caveats import add_caveat
from fedward.privacy.group import Threat
from fedward.privacy.guarantee import Guarantee

Mode = Literal["paper", "inject", "present", "compromise"]


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
      ceilings: for each threat the largest k that so many trainings can certify at all.
    """

    certificate: Certificate
    replicas: Scores
    curves: tuple[Curve, ...]
    guarantee: Guarantee
    papers_guarantee: Guarantee | None
    releasing_all: Guarantee
    ceilings: tuple[Ceiling, ...] = ()

    @property
    def epsilon(self) -> float:
        return self.guarantee.epsilon

    @property
    def papers_epsilon(self) -> float | None:
        return None if self.papers_guarantee is None else self.papers_guarantee.epsilon

    def curve(self, mode: Mode, *, sure: bool) -> Curve | None:
        return next((c for c in self.curves if c.mode == mode and c.sure == sure), None)


def certify_setting(setting: Setting, replicas: Scores, caveat: str = "") -> Certified:
    """The certificate of a setting, and certified accuracy in every mode, with confidence and without.

    Args:
      caveat: what every ε must be read with, such as where initial weights come from. The certificate itself
        is about one initial model, wherever that comes from.
    """
    if replicas.labels is None:
        raise InvalidValue("certified accuracy needs labels, and these replicas have none")
    certificate = certify(setting, replicas)
    curves = [
        Curve(mode=attack.threat, sure=True, accuracy=attack.accuracy or (), most=_largest_k(attack.k))
        for attack in certificate.attacks
    ]
    top, best, second = averages(replicas)
    right = top == replicas.labels
    for threat in setting.threats:
        spending = certifiable(setting.ledger, _model(setting, threat))
        k = certified_k(best, second, spending, threat, most=setting.most(threat))
        curves.append(Curve(mode=threat, sure=False, accuracy=_accuracy(k, right), most=_largest_k(k)))
    papers = papers_guarantee(setting)
    if papers is not None:
        for sure in (True, False):
            k = _paper_k(setting, replicas, best, second, papers.epsilon, sure=sure)
            curves.append(Curve(mode="paper", sure=sure, accuracy=_accuracy(k, right), most=_largest_k(k)))
    return Certified(
        certificate=certificate,
        replicas=replicas,
        curves=tuple(curves),
        guarantee=add_caveat(setting.ledger.guarantee(setting.delta, setting.accountant), caveat),
        papers_guarantee=None if papers is None else add_caveat(papers, caveat),
        releasing_all=add_caveat(certificate.releasing_all, caveat),
        ceilings=ceilings(setting, classes=certificate.classes, examples=certificate.examples),
    )


def certify_setting_by(setting: AnySetting, replicas: Scores, caveat: str = "") -> Certified:
    """The same by whatever proof the setting names; by another than ours there are its own curves alone."""
    if isinstance(setting, Setting):
        return certify_setting(setting, replicas, caveat)
    if replicas.labels is None:
        raise InvalidValue("certified accuracy needs labels, and these replicas have none")
    certificate = certify_other(setting, replicas)
    guarantee = setting.ledger.guarantee(setting.delta, setting.accountant)
    return Certified(
        certificate=certificate,
        replicas=replicas,
        curves=tuple(
            Curve(mode=attack.threat, sure=True, accuracy=attack.accuracy or (), most=_largest_k(attack.k))
            for attack in certificate.attacks
        ),
        guarantee=add_caveat(guarantee, caveat),
        papers_guarantee=None,
        releasing_all=add_caveat(certificate.releasing_all, caveat),
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


def papers_guarantee(setting: AnySetting) -> Guarantee | None:
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


def _largest_k(k: NDArray[np.int64]) -> int | None:
    largest = int(k.max())
    return None if largest < 0 else largest
