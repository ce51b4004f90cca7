"""What a user does with the model: one local trainer a file."""

from __future__ import annotations

from fedward.core.types import LocalTrainer
from fedward.local.full_gradient import FullGradient
from fedward.local.projected_sgd import ProjectedSGD
from fedward.local.sgd import SGD

LOCAL_TRAINERS: dict[str, type[LocalTrainer]] = {
    "sgd": SGD,
    "projected_sgd": ProjectedSGD,
    "full_gradient": FullGradient,
}

__all__ = ["LOCAL_TRAINERS", "SGD", "FullGradient", "ProjectedSGD"]
