"""Attacks on updates, one a file: what attackers send instead of what they trained."""

from __future__ import annotations

from fedward.attacks.attack_types import ModelPoisoning
from fedward.attacks.model_poisoning.a_little_is_enough import ALittleIsEnough
from fedward.attacks.model_poisoning.collude import Collude
from fedward.attacks.model_poisoning.constrain_and_scale import ConstrainAndScale
from fedward.attacks.model_poisoning.gaussian_update import GaussianUpdate
from fedward.attacks.model_poisoning.inner_product import InnerProductManipulation
from fedward.attacks.model_poisoning.scale import Scale
from fedward.attacks.model_poisoning.sign_flip import SignFlip
from fedward.attacks.model_poisoning.skip_local_privacy import SkipLocalPrivacy
from fedward.attacks.model_poisoning.train_and_scale import TrainAndScale

MODEL_POISONINGS: dict[str, type[ModelPoisoning]] = {
    "scale": Scale,
    "train_and_scale": TrainAndScale,
    "constrain_and_scale": ConstrainAndScale,
    "sign_flip": SignFlip,
    "gaussian": GaussianUpdate,
    "a_little_is_enough": ALittleIsEnough,
    "inner_product": InnerProductManipulation,
    "collude": Collude,
    "skip_local_privacy": SkipLocalPrivacy,
}

__all__ = [
    "MODEL_POISONINGS",
    "ALittleIsEnough",
    "Collude",
    "ConstrainAndScale",
    "GaussianUpdate",
    "InnerProductManipulation",
    "Scale",
    "SignFlip",
    "SkipLocalPrivacy",
    "TrainAndScale",
]
