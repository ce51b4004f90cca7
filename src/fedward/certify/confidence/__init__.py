"""Bounds on expected scores from M replicas, and how sure they are."""

from __future__ import annotations

from fedward.certify.confidence.betting import betting, betting_sequence
from fedward.certify.confidence.clopper_pearson import clopper_pearson
from fedward.certify.confidence.concentration import empirical_bernstein, hoeffding
from fedward.certify.confidence.top_class import ANY_TIME, METHODS, Confidence, TopClass
from fedward.certify.confidence.values import Side

__all__ = [
    "ANY_TIME",
    "METHODS",
    "Confidence",
    "Side",
    "TopClass",
    "betting",
    "betting_sequence",
    "clopper_pearson",
    "empirical_bernstein",
    "hoeffding",
]
