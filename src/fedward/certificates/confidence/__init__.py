"""Bounds on expected scores from M replicas, and how sure they are."""

from __future__ import annotations

from fedward.certificates.confidence.betting import betting, betting_sequence
from fedward.certificates.confidence.betting_votes import betting_votes
from fedward.certificates.confidence.bound_input import Side
from fedward.certificates.confidence.clopper_pearson import clopper_pearson
from fedward.certificates.confidence.concentration import empirical_bernstein, hoeffding
from fedward.certificates.confidence.top_class import ANY_TIME, METHODS, OF_COUNTS, Confidence, TopClass

__all__ = [
    "ANY_TIME",
    "METHODS",
    "OF_COUNTS",
    "Confidence",
    "Side",
    "TopClass",
    "betting",
    "betting_sequence",
    "betting_votes",
    "clopper_pearson",
    "empirical_bernstein",
    "hoeffding",
]
