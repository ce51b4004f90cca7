"""How rows become one vector: one rule a file."""

from __future__ import annotations

from fedward.aggregation.mean import Mean
from fedward.aggregation.weighted_mean import WeightedMean
from fedward.core.types import Aggregator

AGGREGATORS: dict[str, type[Aggregator]] = {
    "mean": Mean,
    "weighted_mean": WeightedMean,
}

__all__ = ["AGGREGATORS", "Mean", "WeightedMean"]
