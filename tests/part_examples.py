"""An example of every part of every slot, and of every preset. A new part needs one here, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fedward import presets
from fedward.aggregation import (
    AGGREGATORS,
    RULES,
    AllRows,
    Bucketing,
    Bulyan,
    CentredClipping,
    CoordinateMedian,
    DivideAndConquer,
    Flame,
    FLDetector,
    FLTrust,
    FoolsGold,
    GeometricMedian,
    Krum,
    Mean,
    MultiKrum,
    NearestNeighbourMixing,
    RobustLearningRate,
    SignGuard,
    TrimmedMean,
    WeightedMean,
)
from fedward.attacks import MODEL_POISONINGS, POISONINGS, WHO, NamedUsers, PerCohort, RandomUsers
from fedward.attacks.model_poisoning import (
    AdaptiveBackdoor,
    ALittleIsEnough,
    AlternatingMinimisation,
    Collude,
    ConstrainAndScale,
    FangKrum,
    FangTrimmedMean,
    GaussianUpdate,
    InnerProductManipulation,
    Mimic,
    MinMax,
    MinSum,
    Neurotoxin,
    OptimisedALittle,
    OptimisedInnerProduct,
    Scale,
    SignFlip,
    SkipLocalPrivacy,
    TrainAndScale,
)
from fedward.attacks.poisoning import (
    A3FL,
    BlendedBackdoor,
    BoldDigit,
    CleanLabelBackdoor,
    DistributedBackdoor,
    EdgeCaseBackdoor,
    LabelFlip,
    PatternBackdoor,
    Pixels,
    SemanticBackdoor,
    SinglePixel,
    SlantedDigit,
    Square,
    Triangle,
    WordBackdoor,
)
from fedward.clipping import (
    CLIP_POLICIES,
    ClipNormDecay,
    FixedBound,
    HistogramMedian,
    NoClipping,
    PolynomialDecay,
    Quantile,
    RawMedian,
)
from fedward.core.algorithm import Algorithm
from fedward.core.types import Aggregator
from fedward.local import DPSGD, LOCAL_TRAINERS, ClassMeans, FullGradient, NoisyGradient, ProjectedSGD
from fedward.mechanisms import MECHANISMS, GaussianNoise, NoNoise
from fedward.sampling import SAMPLERS, EveryoneSampler, FixedSizeSampler, PoissonSampler, RandomAllocation
from fedward.server import (
    SERVERS,
    ServerAdam,
    ServerAveraging,
    ServerModelClipping,
    ServerMomentum,
    ServerProjection,
    ServerShrinkage,
    ServerStep,
)
from support import tiny_sgd

TINY_DP_SGD = DPSGD(
    learning_rate=0.1, probability=0.4, expected_batch=2.0, steps=1, noise_multiplier=1.0, clip_bound=0.5
)
# One number, 1.0, is as long as a stretch of any model. Its path is in the names of tests, and every worker
# of pytest must find the same names: hence a file beside the tests rather than a temporary one.
DIRECTIONS = str(Path(__file__).with_name("one_direction.npy"))
SERVER_EXAMPLES: list[Any] = [
    ServerStep(),
    ServerMomentum(),
    ServerAdam(),
    ServerAveraging(),
    ServerAveraging(first=1, last=3),
    ServerModelClipping(norm=0.5),
    ServerShrinkage(noise_std=0.01),
    ServerShrinkage(noise_std=0.01, threshold=1.0),
    ServerProjection(directions=DIRECTIONS, source="public tweets"),
]
SLOTS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "sampler": (
        SAMPLERS,
        [PoissonSampler(rate=0.5), FixedSizeSampler(size=4), EveryoneSampler(), RandomAllocation(epoch=3)],
    ),
    "local": (
        LOCAL_TRAINERS,
        [
            tiny_sgd(),
            tiny_sgd(momentum=0.9, weight_decay=0.1),
            ProjectedSGD(sgd=tiny_sgd()),
            FullGradient(),
            ClassMeans(),
            TINY_DP_SGD,
            NoisyGradient(noise_multiplier=2.0, clip_bound=0.5),
        ],
    ),
    "policy": (
        CLIP_POLICIES,
        [
            FixedBound(clip_bound=0.5),
            NoClipping(),
            PolynomialDecay(initial=0.5, power=2.0, rounds=100),
            ClipNormDecay(initial=0.5, decay=0.99, look_noise=3.5, expected_cohort=10),
            Quantile(initial=0.5, quantile=0.5, bit_noise=1.0, expected_cohort=10),
            HistogramMedian(
                initial=0.5, least=0.01, most=10.0, bins=8, look_noise=2.0, every=7, most_looks=9
            ),
            RawMedian(),
        ],
    ),
    "aggregator": (
        AGGREGATORS,
        [
            Mean(expected_cohort=3.0),
            WeightedMean(),
            Krum(malicious=1),
            MultiKrum(malicious=2),
            MultiKrum(malicious=1, selected=3),
            CoordinateMedian(),
            TrimmedMean(trimmed=2),
            GeometricMedian(),
            Bulyan(malicious=0),
            Bulyan(malicious=2),
            CentredClipping(radius=0.5, steps=2),
            NearestNeighbourMixing(rule=TrimmedMean(trimmed=1), malicious=2),
            Bucketing(rule=CoordinateMedian()),
            DivideAndConquer(malicious=2, times=2),
            FLTrust(root=0),
            FoolsGold(),
            Flame(),
            RobustLearningRate(threshold=2),
            SignGuard(),
            FLDetector(window=3),
        ],
    ),
    "noise": (MECHANISMS, [GaussianNoise(multiplier=1.0), NoNoise()]),
    "server": (SERVERS, SERVER_EXAMPLES),
    "poisoning": (
        POISONINGS,
        [
            SinglePixel(),
            PatternBackdoor(pattern=Square(size=2), target=2, fraction=0.5),
            DistributedBackdoor(pattern=Square(size=4), target=0, rate=0.5),
            BlendedBackdoor(target=2, fraction=0.5),
            CleanLabelBackdoor(target=1, frequency=1),
            EdgeCaseBackdoor(source=1, target=0, share=0.3, components=3),
            A3FL(pattern=Square(size=2), target=1, steps=6, renewed=3, length=0.1),
            LabelFlip(target=0, source=1),
            LabelFlip(target=2),
            SemanticBackdoor(feature=BoldDigit(label=1, ink=0.3), target=0),
            WordBackdoor(fraction=0.5),
        ],
    ),
    "model poisoning": (
        MODEL_POISONINGS,
        [
            Scale(factor=3.0),
            TrainAndScale(local=tiny_sgd(epochs=2), factor=3.0),
            ConstrainAndScale(local=tiny_sgd(), factor=3.0, norm=0.4),
            AlternatingMinimisation(local=tiny_sgd(epochs=2), factor=3.0, stealth=2),
            Neurotoxin(share=0.3, factor=2.0),
            SignFlip(),
            GaussianUpdate(std=0.1),
            ALittleIsEnough(),
            ALittleIsEnough(deviations=1.5),
            InnerProductManipulation(factor=0.5),
            OptimisedALittle(rule=CoordinateMedian(), steps=3),
            OptimisedInnerProduct(rule=TrimmedMean(trimmed=1), largest=4.0, steps=3),
            AdaptiveBackdoor(rule=CoordinateMedian(), steps=3),
            MinMax(),
            MinMax(direction="unit"),
            MinSum(direction="sign"),
            FangKrum(),
            FangKrum(malicious=1, spread=0.01),
            FangTrimmedMean(),
            Mimic(),
            Collude(spread=0.1),
            SkipLocalPrivacy(),
        ],
    ),
    "who": (WHO, [NamedUsers(users=(1, 4, 9)), RandomUsers(count=3), PerCohort(count=4, each=2)]),
}
COMMON: dict[str, Any] = {"num_users": 12, "sampler": PoissonSampler(rate=0.5), "local": tiny_sgd()}
EVERYONE: dict[str, Any] = {"sampler": EveryoneSampler(), "local": tiny_sgd()}
PRESET_EXAMPLES: dict[str, Algorithm] = {
    "fedavg": presets.fedavg(sampler=PoissonSampler(rate=0.5), local=tiny_sgd()),
    "fedsgd": presets.fedsgd(sampler=PoissonSampler(rate=0.5), learning_rate=0.1),
    "user_dp_fedavg": presets.user_dp_fedavg(**COMMON, clip_bound=0.5, noise_multiplier=1.0),
    "central_dp": presets.central_dp(**COMMON, clip_bound=0.5, noise_multiplier=1.0),
    "clip_norm_decay": presets.clip_norm_decay(**COMMON, initial_bound=0.5, decay=0.9, noise_multiplier=1.0),
    "adaptive_clipping": presets.adaptive_clipping(**COMMON, noise_multiplier=1.0),
    "dp_ftrl": presets.dp_ftrl(
        num_users=12,
        local=COMMON["local"],
        rounds=10,
        separation=3,
        clip_bound=0.5,
        noise_multiplier=2.0,
    ),
    "norm_bounding": presets.norm_bounding(**COMMON, clip_bound=0.5),
    "weak_dp": presets.weak_dp(**COMMON, clip_bound=0.5, noise_std=0.02),
    "krum": presets.krum(**EVERYONE, malicious=2),
    "multi_krum": presets.multi_krum(**EVERYONE, malicious=2, clip_bound=0.5),
    "median": presets.median(**EVERYONE),
    "trimmed_mean": presets.trimmed_mean(**EVERYONE, trimmed=2),
    "geometric_median": presets.geometric_median(**EVERYONE),
    "bulyan": presets.bulyan(**EVERYONE, malicious=2),
    "robust": presets.robust(**EVERYONE, rule=Krum(malicious=2)),
    "composed": presets.composed(
        sampler=PoissonSampler(rate=0.5),
        local=tiny_sgd(),
        policy=FixedBound(clip_bound=0.5),
        aggregator=Mean(expected_cohort=6.0),
        mechanism=GaussianNoise(multiplier=1.0),
    ),
    "insdp_fedavg": presets.insdp_fedavg(**(COMMON | {"local": TINY_DP_SGD})),
    "insdp_fedsgd": presets.insdp_fedsgd(num_users=12, sampler=FixedSizeSampler(size=4), local=TINY_DP_SGD),
    "dopamine": presets.dopamine(num_users=12, sampler=FixedSizeSampler(size=4), local=TINY_DP_SGD),
    "local_dp": presets.local_dp(sampler=PoissonSampler(rate=0.5), local=TINY_DP_SGD),
    "ldp_fedsgd": presets.ldp_fedsgd(
        num_users=12, sampler=PoissonSampler(rate=0.5), noise_multiplier=2.0, clip_bound=0.5
    ),
}

FEATURE_EXAMPLES: list[Any] = [BoldDigit(label=1, ink=0.3), SlantedDigit(label=1, slant=0.1)]
PATTERN_EXAMPLES: list[Any] = [Pixels(places=((-1, -1), (0, 0))), Square(size=3, row=0), Triangle(size=2)]


def parts(slot: str) -> list[Any]:
    return SLOTS[slot][1]


AGGREGATOR_EXAMPLES: list[Aggregator] = [
    AllRows(rule=part) if type(part) in RULES.values() else part for part in parts("aggregator")
]
ALL_PARTS = [*(part for _, examples in SLOTS.values() for part in examples), AllRows(rule=Krum(malicious=1))]
