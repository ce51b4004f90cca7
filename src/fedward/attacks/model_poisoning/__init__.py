"""Attacks on updates, one a file: what attackers send instead of what they trained."""

from __future__ import annotations

from fedward.attacks.attack_types import ModelPoisoning
from fedward.attacks.model_poisoning.a_little_is_enough import ALittleIsEnough
from fedward.attacks.model_poisoning.adaptive_backdoor import AdaptiveBackdoor
from fedward.attacks.model_poisoning.alternating_minimisation import AlternatingMinimisation
from fedward.attacks.model_poisoning.collude import Collude
from fedward.attacks.model_poisoning.constrain_and_scale import ConstrainAndScale
from fedward.attacks.model_poisoning.fang_krum import FangKrum
from fedward.attacks.model_poisoning.fang_trimmed_mean import FangTrimmedMean
from fedward.attacks.model_poisoning.gaussian_update import GaussianUpdate
from fedward.attacks.model_poisoning.inner_product import InnerProductManipulation
from fedward.attacks.model_poisoning.mimic import Mimic
from fedward.attacks.model_poisoning.min_max import MinMax
from fedward.attacks.model_poisoning.min_sum import MinSum
from fedward.attacks.model_poisoning.neurotoxin import Neurotoxin
from fedward.attacks.model_poisoning.optimised_a_little import OptimisedALittle
from fedward.attacks.model_poisoning.optimised_inner_product import OptimisedInnerProduct
from fedward.attacks.model_poisoning.scale import Scale
from fedward.attacks.model_poisoning.sign_flip import SignFlip
from fedward.attacks.model_poisoning.skip_local_privacy import SkipLocalPrivacy
from fedward.attacks.model_poisoning.train_and_scale import TrainAndScale

MODEL_POISONINGS: dict[str, type[ModelPoisoning]] = {
    "scale": Scale,
    "train_and_scale": TrainAndScale,
    "constrain_and_scale": ConstrainAndScale,
    "alternating_minimisation": AlternatingMinimisation,
    "neurotoxin": Neurotoxin,
    "sign_flip": SignFlip,
    "gaussian": GaussianUpdate,
    "a_little_is_enough": ALittleIsEnough,
    "inner_product": InnerProductManipulation,
    "optimised_a_little": OptimisedALittle,
    "optimised_inner_product": OptimisedInnerProduct,
    "adaptive_backdoor": AdaptiveBackdoor,
    "min_max": MinMax,
    "min_sum": MinSum,
    "fang_krum": FangKrum,
    "fang_trimmed_mean": FangTrimmedMean,
    "mimic": Mimic,
    "collude": Collude,
    "skip_local_privacy": SkipLocalPrivacy,
}
"""The attacks on updates, by the names that experiment files use."""

__all__ = [
    "MODEL_POISONINGS",
    "ALittleIsEnough",
    "AdaptiveBackdoor",
    "AlternatingMinimisation",
    "Collude",
    "ConstrainAndScale",
    "FangKrum",
    "FangTrimmedMean",
    "GaussianUpdate",
    "InnerProductManipulation",
    "Mimic",
    "MinMax",
    "MinSum",
    "Neurotoxin",
    "OptimisedALittle",
    "OptimisedInnerProduct",
    "Scale",
    "SignFlip",
    "SkipLocalPrivacy",
    "TrainAndScale",
]
