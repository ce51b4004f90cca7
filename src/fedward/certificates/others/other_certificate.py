"""A certificate by another proof, computed from stored votes and nothing else."""

from __future__ import annotations

import numpy as np

from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import Attack, Certificate, Floats, Integers, as_probability
from fedward.certificates.claims_draw import draw_of_claims
from fedward.certificates.confidence import TopClass
from fedward.certificates.others import DisjointGroups, RandomGroups
from fedward.certificates.others.certain import Certain
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.replica_scores import Score
from fedward.certificates.tally import Scores
from fedward.privacy.group import Threat


def certify_other(setting: OtherSetting, scores: Scores) -> Certificate:
    """The certificate by the setting's proof, in the form of fedward's own.

    Guarantee: that of the proof (``DisjointGroups``, ``RandomGroups``, ``ParameterSmoothing``), with
    probability at least 1 - error over the models that voted; certain for disjoint groups.

    Args:
      setting: what it is about.
      scores: what the models say; those of groups vote.
    """
    if scores.score != "vote" and isinstance(setting.by, DisjointGroups | RandomGroups):
        raise InvalidValue(f"models of groups vote, got scores of {scores.score}")
    if scores.draw and scores.draw != (own := draw_of_other(setting, scores.score)):
        raise InvalidValue(
            f"replicas must be drawn for what is claimed, draw {own}, got those of draw {scores.draw}"
        )
    bounds = setting.confidence.bounds(scores)
    return Certificate(
        setting=setting,
        score=scores.score,
        seed=scores.seed,
        classes=scores.classes,
        scores=scores.digest(),
        bounds=bounds,
        predicts=_predicts(setting, bounds, scores.score),
        attacks=tuple(_attack(setting, scores, bounds, threat) for threat in setting.threats),
        releasing_all=setting.releasing_all(),
        draw=scores.draw,
    )


def draw_of_other(setting: OtherSetting, score: Score) -> str:
    """The draw of such a certificate: another one for every proof."""
    return draw_of_claims(
        setting.confidence,
        score=score,
        threats=setting.threats,
        attendance=setting.attendance,
        by=setting.by.to_json(),
    )


def predicts_under_other(
    setting: OtherSetting, score: Score, lower: Floats, threat: Threat, k: Integers
) -> Floats:
    """A lower bound on the probability that what is released predicts the top class, under each k.

    For disjoint groups that is the vote of all models, and certain. For random groups it is one model of a
    random group; where parameters are smoothed, one model.
    """
    if isinstance(setting.by, DisjointGroups):
        return np.where(k >= 0, 1.0, 0.0)
    least = lower.copy()
    for size in np.unique(k[k > 0]).tolist():
        at = k == size
        if isinstance(setting.by, RandomGroups):
            least[at] = setting.by.least(lower[at], size, setting.users, threat)
        else:
            left = setting.by.divergence(
                size,
                noise_multiplier=setting.noise_multiplier,
                rounds=setting.rounds,
                threat=threat,
                step=setting.step,
            )
            least[at] = setting.by.least(lower[at], left)
    return as_probability(least, score)


def _predicts(setting: OtherSetting, bounds: TopClass, score: Score) -> Floats:
    """The same without attackers."""
    if isinstance(setting.by, DisjointGroups):
        return np.where(bounds.lower > 0, 1.0, 0.0)
    return as_probability(bounds.lower, score)


def _attack(setting: OtherSetting, scores: Scores, bounds: TopClass, threat: Threat) -> Attack:
    k = _attackers(setting, scores, bounds, threat)
    accuracy = None
    if scores.labels is not None:
        reached = k[bounds.top == scores.labels]
        accuracy = tuple(int((reached >= j).sum()) / len(k) for j in range(max(0, int(k.max())) + 1))
    predicts = predicts_under_other(setting, scores.score, bounds.lower, threat, k)
    return Attack(threat=threat, k=k, most=setting.most(threat), predicts=predicts, accuracy=accuracy)


def _attackers(setting: OtherSetting, scores: Scores, bounds: TopClass, threat: Threat) -> Integers:
    most, by = setting.most(threat), setting.by
    if isinstance(by, DisjointGroups):
        assert isinstance(setting.confidence, Certain)  # the setting has checked it
        return np.minimum(by.attackers(setting.confidence.tally(scores).counts), most)
    if isinstance(by, RandomGroups):
        return by.attackers(bounds.lower, bounds.upper, users=setting.users, threat=threat, most=most)
    return by.attackers(
        bounds.lower,
        bounds.upper,
        noise_multiplier=setting.noise_multiplier,
        rounds=setting.rounds,
        threat=threat,
        step=setting.step,
        most=most,
    )
