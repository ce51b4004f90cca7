"""Aggregation rules, one a file: each combines the updates (rows) of a round into one vector."""

from __future__ import annotations

from fedward.aggregation.all_rows import AllRows, Rule, WatchingRule
from fedward.aggregation.bucketing import Bucketing
from fedward.aggregation.bulyan import Bulyan
from fedward.aggregation.centred_clipping import CentredClipping
from fedward.aggregation.divide_and_conquer import DivideAndConquer
from fedward.aggregation.fl_detector import FLDetector
from fedward.aggregation.fl_trust import FLTrust
from fedward.aggregation.flame import Flame
from fedward.aggregation.fools_gold import FoolsGold
from fedward.aggregation.geometric_median import GeometricMedian
from fedward.aggregation.krum import Krum
from fedward.aggregation.mean import Mean
from fedward.aggregation.median import CoordinateMedian
from fedward.aggregation.multi_krum import MultiKrum
from fedward.aggregation.nearest_neighbour_mixing import NearestNeighbourMixing
from fedward.aggregation.robust_learning_rate import RobustLearningRate
from fedward.aggregation.sign_guard import SignGuard
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
    "centred_clipping": CentredClipping,
    "nearest_neighbour_mixing": NearestNeighbourMixing,
    "bucketing": Bucketing,
    "divide_and_conquer": DivideAndConquer,
    "fl_trust": FLTrust,
    "fools_gold": FoolsGold,
    "flame": Flame,
    "robust_learning_rate": RobustLearningRate,
    "sign_guard": SignGuard,
    "fl_detector": FLDetector,
}
"""The robust rules, by the names that experiment files use."""

AGGREGATORS: dict[str, type[Aggregator] | type[Rule]] = {
    "mean": Mean,
    "weighted_mean": WeightedMean,
    **RULES,
}
"""All aggregators: those that are one as they are, and the rules, which ``AllRows`` makes one."""

__all__ = [
    "AGGREGATORS",
    "RULES",
    "AllRows",
    "Bucketing",
    "Bulyan",
    "CentredClipping",
    "CoordinateMedian",
    "DivideAndConquer",
    "FLDetector",
    "FLTrust",
    "Flame",
    "FoolsGold",
    "GeometricMedian",
    "Krum",
    "Mean",
    "MultiKrum",
    "NearestNeighbourMixing",
    "RobustLearningRate",
    "Rule",
    "SignGuard",
    "TrimmedMean",
    "WatchingRule",
    "WeightedMean",
]
