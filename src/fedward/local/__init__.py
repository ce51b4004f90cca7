"""Local trainers, one a file: each is a way in which a user trains the model in a round."""

from __future__ import annotations

from fedward.core.types import LocalTrainer
from fedward.local.class_means import ClassMeans
from fedward.local.dp_sgd import DPSGD
from fedward.local.full_gradient import FullGradient
from fedward.local.noisy_gradient import NoisyGradient
from fedward.local.projected_sgd import ProjectedSGD
from fedward.local.sgd import SGD

LOCAL_TRAINERS: dict[str, type[LocalTrainer]] = {
    "sgd": SGD,
    "projected_sgd": ProjectedSGD,
    "full_gradient": FullGradient,
    "dp_sgd": DPSGD,
    "noisy_gradient": NoisyGradient,
    "class_means": ClassMeans,
}
"""The local trainers, by the names that experiment files use."""

__all__ = [
    "DPSGD",
    "LOCAL_TRAINERS",
    "SGD",
    "ClassMeans",
    "FullGradient",
    "NoisyGradient",
    "ProjectedSGD",
]
