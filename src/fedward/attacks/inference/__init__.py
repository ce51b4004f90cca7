"""Inference attacks: what released models and observed updates give away about those who trained them."""

from __future__ import annotations

from fedward.attacks.inference.auc import Interval, auc, proportion
from fedward.attacks.inference.dealing import deal
from fedward.attacks.inference.judge import Membership, judge
from fedward.attacks.inference.limit import Limit, two_sided
from fedward.attacks.inference.membership import MEMBERSHIP_ATTACKS, LikelihoodRatio, LossThreshold
from fedward.attacks.inference.promised_limit import membership_limit, property_limit
from fedward.attacks.inference.property import PropertyInference, property_inference, property_rounds
from fedward.attacks.inference.property_judge import Property, judge_rounds
from fedward.attacks.inference.roc import RATES, Point, Roc
from fedward.attacks.inference.shadows import ask, membership_inference, train_trial
from fedward.attacks.inference.trials import MembershipInference, Trial

__all__ = [
    "MEMBERSHIP_ATTACKS",
    "RATES",
    "Interval",
    "LikelihoodRatio",
    "Limit",
    "LossThreshold",
    "Membership",
    "MembershipInference",
    "Point",
    "Property",
    "PropertyInference",
    "Roc",
    "Trial",
    "ask",
    "auc",
    "deal",
    "judge",
    "judge_rounds",
    "membership_inference",
    "membership_limit",
    "property_inference",
    "property_limit",
    "property_rounds",
    "proportion",
    "train_trial",
    "two_sided",
]
