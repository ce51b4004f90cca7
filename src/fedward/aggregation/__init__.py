"""Aggregation rules, one a file: each combines the updates (rows) of a round into one vector."""

from __future__ import annotations

from fedward.aggregation.all_rows import AllRows, Rule
from fedward.aggregation.bulyan import Bulyan
from fedward.aggregation.geometric_median import GeometricMedian
from fedward.aggregation.krum import Krum
from fedward.aggregation.mean import Mean
from fedward.aggregation.median import CoordinateMedian
from fedward.aggregation.multi_krum import MultiKrum
from fedward.aggregation.trimmed_mean import TrimmedMean
from fedward.aggregation.weighted_mean import WeightedMean
from fedward.core.types import Aggregator

RULES: dict[str, type[Rule]] = {
    "krum": Krum,
    "multi_krum": MultiKrum,
    "median": CoordinateMedian,
    "trimmed_mean": TrimmedMean,
    "geometric_median": GeometricMedian,
    "bulyan": Bulyan,
}

AGGREGATORS: dict[str, type[Aggregator] | type[Rule]] = {
    "mean": Mean,
    "weighted_mean": WeightedMean,
    **RULES,
}
"""An aggregator as it is, or a rule for ``AllRows``."""

__all__ = [
    "AGGREGATORS",
    "RULES",
    "AllRows",
    "Bulyan",
    "CoordinateMedian",
    "GeometricMedian",
    "Krum",
    "Mean",
    "MultiKrum",
    "Rule",
    "TrimmedMean",
    "WeightedMean",
]
