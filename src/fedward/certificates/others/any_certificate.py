"""Certificates by any proof: each computed as its setting says."""

from __future__ import annotations

from fedward.certificates.certificate import (
    Certificate,
    Floats,
    Integers,
    certify,
    draw_of_setting,
    predicts_under,
)
from fedward.certificates.others.other_certificate import (
    certify_other,
    draw_of_other,
    predicts_under_other,
)
from fedward.certificates.others.other_setting import OtherSetting
from fedward.certificates.replica_scores import Score
from fedward.certificates.setting import Setting
from fedward.certificates.tally import Scores
from fedward.privacy.group import Threat

AnySetting = Setting | OtherSetting


def certify_by(setting: AnySetting, scores: Scores) -> Certificate:
    """The certificate of a setting."""
    return certify_other(setting, scores) if isinstance(setting, OtherSetting) else certify(setting, scores)


def draw_by(setting: AnySetting, score: Score) -> str:
    """The draw of a certificate in this setting."""
    if isinstance(setting, OtherSetting):
        return draw_of_other(setting, score)
    return draw_of_setting(setting, score)


def predicts_by(setting: AnySetting, score: Score, lower: Floats, threat: Threat, k: Integers) -> Floats:
    """A lower bound on the probability that what is released predicts the top class, under each k."""
    if isinstance(setting, OtherSetting):
        return predicts_under_other(setting, score, lower, threat, k)
    return predicts_under(setting, score, lower, threat, k, {})
