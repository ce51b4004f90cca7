"""A certificate: for each test example the top class and how many attackers cannot change it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedward.base.table_rows import frame
from fedward.base.validate import InvalidValue
from fedward.certificates.claims_draw import draw_of_claims
from fedward.certificates.confidence import TopClass
from fedward.certificates.prediction import certified_k
from fedward.certificates.replica_scores import Score
from fedward.certificates.setting import Setting
from fedward.certificates.tally import Scores
from fedward.certificates.transport import transport
from fedward.privacy.group import GroupCurve, Threat, group_curve
from fedward.privacy.guarantee import Guarantee
from fedward.privacy.spending import Mechanisms

if TYPE_CHECKING:
    from fedward.certificates.others.other_setting import OtherSetting

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Attack:
    """What is certified against one threat.

    Args:
      threat: inject, present or compromise.
      k: for each example the most attackers that cannot change the top class; 0 if only the clean
        prediction holds, -1 if not even that.
      most: the last k that was tried: there it means "at least".
      predicts: for each example a lower bound on the probability that one model, released under an attack
        by k (under none if k is not positive), predicts the top class.
      accuracy: at k = 0, 1, 2, ... the share of examples whose top class is right and certified against k;
        None if the labels are not known.
    """

    threat: Threat
    k: Integers
    most: int
    predicts: Floats
    accuracy: tuple[float, ...] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate:
    """What was certified, and about what.

    Args:
      setting: the training, the attackers and the confidence; of another proof, with that proof.
      score: whether means are of confidences or of votes.
      seed: the seed of all replicas.
      classes: how many classes there are.
      scores: the digest of the scores that it was computed from.
      draw: the draw that the replicas belong to: that of what is claimed, or empty if they are bound to
        nothing (``draw_of_claims``).
      bounds: top class and bounds on the means, for each example.
      predicts: for each example a lower bound on the probability that one released model predicts the
        top class, without attackers.
      attacks: one for each threat.
      releasing_all: the composed guarantee of all M trainings. The certificate is computed from them and
        is itself no private release.
    """

    setting: Setting | OtherSetting
    score: Score
    seed: int
    classes: int
    scores: str
    bounds: TopClass
    predicts: Floats
    attacks: tuple[Attack, ...]
    releasing_all: Guarantee
    draw: str = ""

    @property
    def examples(self) -> int:
        return len(self.bounds.top)

    def table_rows(self) -> list[dict[str, Any]]:
        """Certified accuracy by k, one row for each threat and k, with what it is about."""
        setting, rule, all_of_them = self.setting, self.setting.confidence, self.releasing_all
        about = {
            "unit": setting.ledger.unit,
            "attendance": setting.attendance,
            "score": self.score,
            "error": rule.error,
            "simultaneous": rule.simultaneous,
            "replicas": max(rule.looks),
            "examples": self.examples,
            "epsilon_releasing_all": all_of_them.epsilon if all_of_them.private else None,
            "delta": all_of_them.delta,
        }
        return [
            {"threat": attack.threat, "k": k, "certified_accuracy": share, **about}
            for attack in self.attacks
            for k, share in enumerate(attack.accuracy or ())
        ]

    def to_pandas(self) -> Any:
        """The same as a table of pandas."""
        return frame(self.table_rows())

    def __repr__(self) -> str:
        reached = ", ".join(f"k up to {int(attack.k.max())} ({attack.threat})" for attack in self.attacks)
        replicas = max(self.setting.confidence.looks)
        return f"Certificate({self.examples:,} examples, {replicas:,} replicas: {reached})"


def certify(setting: Setting, replicas: Scores) -> Certificate:
    """Computes a certificate from the scores of M replicas and nothing else.

        top, lower, upper  from the replicas, at the setting's confidence
        k                  largest with transport_k(lower) > transport_k(upper), or > 1/2

    Guarantee: with probability at least 1 - error over the replicas, for each example (or for all of them
    together, if ``simultaneous``): under every attack by at most k users that the setting describes, the
    top class of the expected score is ``top``. This holds for all threats and all k at once, since
    everything follows from one pair of bounds.

    Args:
      setting: what it is about.
      replicas: their scores, or a tally of their votes; as many as the setting's confidence was planned
        for. If they belong to a draw, it must be that of what is claimed.

    >>> from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
    >>> from fedward.certificates.confidence import Confidence
    >>> from fedward.certificates.replica_scores import Replicas
    >>> from fedward.privacy import Ledger
    >>> ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    >>> ledger = ledger.charged(PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), 3)
    >>> setting = Setting(ledger=ledger, users=200, confidence=Confidence(looks=(100,)), delta=0.0029,
    ...                   initial_model="c0ffee", data="f00d")
    >>> scores = np.tile([[0.9, 0.1], [0.45, 0.55]], (100, 1, 1))
    >>> found = certify(setting, Replicas(scores=scores, numbers=np.arange(100), seed=7, labels=[0, 0]))
    >>> found.bounds.top.tolist(), found.attacks[0].threat, found.attacks[0].k.tolist()
    ([0, 1], 'inject', [16, 0])

    The idea is that of Xie et al.; curves, threats and confidence are fedward's.
    """
    if replicas.draw and replicas.draw != (own := draw_of_setting(setting, replicas.score)):
        raise InvalidValue(
            f"replicas must be drawn for what is claimed, draw {own}, got those of draw {replicas.draw}"
        )
    bounds = setting.confidence.bounds(replicas)
    curves: dict[int, GroupCurve] = {}
    return Certificate(
        setting=setting,
        score=replicas.score,
        seed=replicas.seed,
        classes=replicas.classes,
        scores=replicas.digest(),
        bounds=bounds,
        predicts=as_probability(bounds.lower, replicas.score),
        attacks=tuple(_attack(setting, replicas, bounds, threat, curves) for threat in setting.threats),
        releasing_all=setting.releasing_all(),
        draw=replicas.draw,
    )


def draw_of_setting(setting: Setting, score: Score) -> str:
    """The draw of a certificate about predictions in this setting."""
    return draw_of_claims(
        setting.confidence, score=score, threats=setting.threats, attendance=setting.attendance
    )


def _attack(
    setting: Setting, replicas: Scores, bounds: TopClass, threat: Threat, curves: dict[int, GroupCurve]
) -> Attack:
    most, spending = setting.most(threat), setting.spending
    k = certified_k(bounds.lower, bounds.upper, spending, threat, most=most)
    predicts = predicts_under(setting, replicas.score, bounds.lower, threat, k, curves)
    accuracy = None
    if replicas.labels is not None:
        reached = k[bounds.top == replicas.labels]
        accuracy = tuple(int((reached >= j).sum()) / len(k) for j in range(max(0, int(k.max())) + 1))
    return Attack(threat=threat, k=k, most=most, predicts=predicts, accuracy=accuracy)


def predicts_under(
    setting: Setting, score: Score, lower: Floats, threat: Threat, k: Integers, curves: dict[int, GroupCurve]
) -> Floats:
    """A lower bound on P[one model predicts A], for each example under an attack by its k."""
    least = lower.copy()
    for size in _sizes(k):
        at = k == size
        least[at] = transport(lower[at], _curve(curves, setting.spending, size), threat, "lower")
    return as_probability(least, score)


def _sizes(k: Integers) -> Iterable[int]:
    return (int(size) for size in np.unique(k) if size > 0)


def _curve(curves: dict[int, GroupCurve], spending: Mechanisms, k: int) -> GroupCurve:
    """The same curve serves all threats."""
    if k not in curves:
        curves[k] = group_curve(spending, k)
    return curves[k]


def as_probability(mean: Floats, score: Score) -> Floats:
    """A lower bound on P[one model predicts A] from one on its mean score.

    A vote's mean is that probability. A confidence above 1/2 decides, and by Markov's inequality for
    1 - confidence it lies above 1/2 with probability at least 2 mean - 1.
    """
    return mean if score == "vote" else np.maximum(0.0, 2.0 * mean - 1.0)
