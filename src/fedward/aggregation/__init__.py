"""How rows become one vector: one rule a file."""

from __future__ import annotations

from fedward.aggregation.bulyan import Bulyan
from fedward.aggregation.geometric_median import GeometricMedian
from fedward.aggregation.krum import Krum
from fedward.aggregation.mean import Mean
from fedward.aggregation.median import CoordinateMedian
from fedward.aggregation.multi_krum import MultiKrum
from fedward.aggregation.trimmed_mean import TrimmedMean
from fedward.aggregation.weighted_mean import WeightedMean
from fedward.core.types import Aggregator

AGGREGATORS: dict[str, type[Aggregator]] = {
    "mean": Mean,
    "weighted_mean": WeightedMean,
    "krum": Krum,
    "multi_krum": MultiKrum,
    "median": CoordinateMedian,
    "trimmed_mean": TrimmedMean,
    "geometric_median": GeometricMedian,
    "bulyan": Bulyan,
}

__all__ = [
    "AGGREGATORS",
    "Bulyan",
    "CoordinateMedian",
    "GeometricMedian",
    "Krum",
    "Mean",
    "MultiKrum",
    "TrimmedMean",
    "WeightedMean",
]
