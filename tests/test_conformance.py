"""Every part of every slot goes through the same checks. A new part needs an example here, and no more."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch

import fedward
from fedward import presets
from fedward.aggregation import (
    AGGREGATORS,
    Bulyan,
    CoordinateMedian,
    GeometricMedian,
    Krum,
    Mean,
    MultiKrum,
    TrimmedMean,
    WeightedMean,
)
from fedward.attacks import (
    MODEL_POISONINGS,
    POISONINGS,
    WHO,
    Attack,
    NamedUsers,
    PerCohort,
    RandomUsers,
    Staged,
)
from fedward.attacks.model_poisoning import (
    ALittleIsEnough,
    Collude,
    ConstrainAndScale,
    GaussianUpdate,
    InnerProductManipulation,
    Scale,
    SignFlip,
    SkipLocalPrivacy,
    TrainAndScale,
)
from fedward.attacks.poisoning import (
    BoldDigit,
    DistributedBackdoor,
    LabelFlip,
    PatternBackdoor,
    SemanticBackdoor,
    SinglePixel,
    Square,
    poisoned,
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
from fedward.core.parameters import FlatModule
from fedward.core.round import finish_round, plan_round
from fedward.core.types import Bounds, RoundLog, ServerState
from fedward.core.validate import InvalidValue
from fedward.datasets import DATASETS
from fedward.local import DPSGD, LOCAL_TRAINERS, SGD, FullGradient, NoisyGradient, ProjectedSGD
from fedward.models import MODELS, build
from fedward.noise import NOISES, GaussianNoise, NoNoise
from fedward.presets import PRESETS
from fedward.sampling import SAMPLERS, EveryoneSampler, FixedSizeSampler, PoissonSampler
from fedward.server import SERVERS, ServerAdam, ServerMomentum, ServerStep
from support import (
    tiny_algorithm,
    tiny_federation,
    tiny_model,
    tiny_picture_model,
    tiny_pictures,
    tiny_sgd,
)

TINY_DP_SGD = DPSGD(
    learning_rate=0.1, probability=0.4, expected_batch=2.0, steps=1, noise_multiplier=1.0, clip_bound=0.5
)
SLOTS: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "sampler": (SAMPLERS, [PoissonSampler(rate=0.5), FixedSizeSampler(size=4), EveryoneSampler()]),
    "local": (
        LOCAL_TRAINERS,
        [
            tiny_sgd(),
            tiny_sgd(momentum=0.9, weight_decay=0.1),
            ProjectedSGD(sgd=tiny_sgd()),
            FullGradient(),
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
        ],
    ),
    "noise": (NOISES, [GaussianNoise(multiplier=1.0), NoNoise()]),
    "server": (SERVERS, [ServerStep(), ServerMomentum(), ServerAdam()]),
    "poisoning": (
        POISONINGS,
        [
            SinglePixel(),
            PatternBackdoor(pattern=Square(size=2), target=2, fraction=0.5),
            DistributedBackdoor(pattern=Square(size=4), target=0, rate=0.5),
            LabelFlip(target=0, source=1),
            LabelFlip(target=2),
            SemanticBackdoor(feature=BoldDigit(label=1, ink=0.3), target=0),
        ],
    ),
    "model poisoning": (
        MODEL_POISONINGS,
        [
            Scale(factor=3.0),
            TrainAndScale(local=tiny_sgd(epochs=2), factor=3.0),
            ConstrainAndScale(local=tiny_sgd(), factor=3.0, norm=0.4),
            SignFlip(),
            GaussianUpdate(std=0.1),
            ALittleIsEnough(),
            ALittleIsEnough(deviations=1.5),
            InnerProductManipulation(factor=0.5),
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
    "norm_bounding": presets.norm_bounding(**COMMON, clip_bound=0.5),
    "weak_dp": presets.weak_dp(**COMMON, clip_bound=0.5, noise_std=0.02),
    "krum": presets.krum(**EVERYONE, malicious=2),
    "multi_krum": presets.multi_krum(**EVERYONE, malicious=2, clip_bound=0.5),
    "median": presets.median(**EVERYONE),
    "trimmed_mean": presets.trimmed_mean(**EVERYONE, trimmed=2),
    "geometric_median": presets.geometric_median(**EVERYONE),
    "bulyan": presets.bulyan(**EVERYONE, malicious=2),
    "insdp_fedavg": presets.insdp_fedavg(**(COMMON | {"local": TINY_DP_SGD})),
    "insdp_fedsgd": presets.insdp_fedsgd(num_users=12, sampler=FixedSizeSampler(size=4), local=TINY_DP_SGD),
    "dopamine": presets.dopamine(num_users=12, sampler=FixedSizeSampler(size=4), local=TINY_DP_SGD),
    "local_dp": presets.local_dp(sampler=PoissonSampler(rate=0.5), local=TINY_DP_SGD),
    "ldp_fedsgd": presets.ldp_fedsgd(
        num_users=12, sampler=PoissonSampler(rate=0.5), noise_multiplier=2.0, clip_bound=0.5
    ),
}


def parts(slot: str) -> list[Any]:
    return SLOTS[slot][1]


ALL_PARTS = [part for _, examples in SLOTS.values() for part in examples]


@pytest.mark.parametrize("slot", SLOTS)
def test_every_part_of_a_slot_has_an_example_here(slot: str) -> None:
    registry, examples = SLOTS[slot]
    assert set(registry.values()) == {type(example) for example in examples}


@pytest.mark.parametrize("part", ALL_PARTS, ids=repr)
def test_a_part_is_a_frozen_value_with_a_docstring(part: Any) -> None:
    assert dataclasses.is_dataclass(part)
    assert part == copy.deepcopy(part)
    assert hash(part) == hash(copy.deepcopy(part))
    assert type(part).__name__ in repr(part)
    assert type(part).__doc__
    for field in dataclasses.fields(part):
        assert field.kw_only
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, field.name, 1)


def test_names_are_what_people_write_in_files() -> None:
    for registry in [*(registry for registry, _ in SLOTS.values()), PRESETS, MODELS, DATASETS]:
        for name, part in registry.items():
            assert name == name.lower()
            assert name.isidentifier()
            assert part.__doc__


@pytest.mark.parametrize("sampler", parts("sampler"), ids=str)
def test_a_sampler_draws_ascending_users_and_repeats_itself(sampler: Any) -> None:
    for seed in range(20):
        cohort = sampler.draw(12, np.random.default_rng(seed))
        assert np.array_equal(cohort, sampler.draw(12, np.random.default_rng(seed)))
        assert (np.diff(cohort) > 0).all()
        assert set(cohort.tolist()) <= set(range(12))
    assert 0 < sampler.expected_size(12) <= 12
    assert len(str(sampler).splitlines()) == 1


@pytest.mark.parametrize("trainer", parts("local"), ids=repr)
def test_a_local_trainer_repeats_itself_and_touches_neither_data_nor_itself(
    trainer: Any,
) -> None:
    federation = tiny_federation()
    before = federation.examples.x.clone()  # type: ignore[union-attr]
    results = []
    for _ in range(2):
        model = FlatModule(tiny_model())
        trainer.at_round(3, (0.5,)).train(model, federation.user(2), np.random.default_rng(0))
        results.append(model.parameters.clone())
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], FlatModule(tiny_model()).parameters)
    assert torch.equal(before, federation.examples.x)  # type: ignore[arg-type]


@pytest.mark.parametrize("trainer", parts("local"), ids=repr)
def test_a_local_trainer_works_on_one_example(trainer: Any) -> None:
    model = FlatModule(tiny_model())
    trainer.at_round(0, (0.5,)).train(model, tiny_federation(per_user=1).user(0), np.random.default_rng(0))
    assert bool(torch.isfinite(model.parameters).all())


NORMS: dict[str, list[Bounds]] = {
    "empty cohort": [],
    "one user": [(0.3,)],
    "all zero": [(0.0,)] * 10,
    "one huge": [(0.1,)] * 9 + [(1e30,)],
    "beyond any number": [(math.inf,)] * 3,
}


@pytest.mark.parametrize("policy", parts("policy"), ids=repr)
@pytest.mark.parametrize("norms", NORMS.values(), ids=NORMS.keys())
def test_a_policy_keeps_its_bound_positive_for_a_thousand_rounds(
    policy: Any, norms: list[tuple[float, ...]]
) -> None:
    state = policy.init()
    rng = np.random.default_rng(0)
    for t in range(1000):
        bounds = policy.bound(state, t, norms if policy.reads_norms else None)
        assert all(bound > 0 and not math.isnan(bound) for bound in bounds)
        if not policy.unproven:
            assert all(math.isfinite(bound) for bound in bounds)
        state = policy.move(state, t, bounds, norms, rng)
        assert all(isinstance(value, float) for value in state)


ROWS: dict[str, list[torch.Tensor]] = {
    "empty cohort": [],
    "one row": [torch.ones(4)],
    "zeros": [torch.zeros(4)] * 3,
    "one huge": [torch.full((4,), 1e30), torch.ones(4)],
    "eleven": list(torch.randn(11, 4, generator=torch.Generator().manual_seed(0))),
    "eleven equal": [torch.ones(4)] * 11,
    "eleven, some huge": [
        torch.full((4,), (-1) ** i * 3e38) if i < 4 else torch.ones(4) * i for i in range(11)
    ],
    "all huge": [torch.tensor([3e38, -3e38, 1e30, 0.0]) * (1 - i / 11) for i in range(11)],
}


@pytest.mark.parametrize("aggregator", parts("aggregator"), ids=repr)
def test_an_aggregator_takes_any_cohort_of_enough_rows_and_leaves_the_rows_alone(aggregator: Any) -> None:
    parameters = torch.zeros(4)
    # With fewer rows a round keeps the model and never asks.
    cohorts = [rows for rows in ROWS.values() if len(rows) >= aggregator.least_rows]
    assert len(cohorts) >= 4
    for rows in cohorts:
        copies = [row.clone() for row in rows]
        results = []
        for _ in range(2):
            total = aggregator.init(parameters)
            for row in rows:
                total = aggregator.add(total, row, 5)
            results.append(aggregator.finish(total))
        assert torch.equal(results[0], results[1])
        assert results[0].shape == parameters.shape
        assert bool(torch.isfinite(results[0]).all())
        assert all(torch.equal(a, b) for a, b in zip(rows, copies, strict=True))


@pytest.mark.parametrize("aggregator", parts("aggregator"), ids=repr)
@pytest.mark.parametrize("adjacency", ["add/remove", "replace-one", "local"])
def test_a_sensitivity_grows_with_the_bound_or_is_none(aggregator: Any, adjacency: Any) -> None:
    one, two = (aggregator.sensitivity(bound, adjacency) for bound in (1.0, 2.0))
    if one is None:
        assert two is None
    else:
        assert two == pytest.approx(2 * one)
        assert 0 < one < math.inf


@pytest.mark.parametrize("noise", parts("noise"), ids=repr)
def test_noise_has_the_shape_of_the_mean(noise: Any) -> None:
    drawn = noise.draw(torch.ones(7, dtype=torch.float64), 0.1, np.random.default_rng(0))
    assert drawn.shape == (7,)
    assert drawn.dtype == torch.float64


def test_every_preset_has_an_example_here() -> None:
    assert PRESET_EXAMPLES.keys() == PRESETS.keys()


@pytest.mark.parametrize("name", PRESET_EXAMPLES)
def test_a_preset_trains_repeats_itself_and_says_what_it_guarantees(name: str) -> None:
    algorithm = PRESET_EXAMPLES[name]
    assert algorithm.name == name
    federation, model = tiny_federation(), tiny_model()
    ends = [list(fedward.train(algorithm, model, federation, rounds=3, seed=1))[-1][0] for _ in range(2)]
    assert torch.equal(ends[0].parameters, ends[1].parameters)
    assert bool(torch.isfinite(ends[0].parameters).all())
    users = ends[0].users
    if algorithm.accounting == "users":
        # Known before: what a user spends that is drawn in every round; nobody has spent more.
        assert users is not None
        worst = users.guarantees(1e-3, "rdp").worst
        assert 0 < worst.epsilon <= algorithm.guarantee(12, 3, 1e-3, "rdp").epsilon
        return
    assert users is None
    guarantee = ends[0].ledger.guarantee(1e-3, "rdp")
    assert guarantee == algorithm.guarantee(12, 3, 1e-3, "rdp")
    assert guarantee.private == (not algorithm.unproven)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_scores_every_class(name: str) -> None:
    shape = (1, 28, 28) if name.startswith("mnist") else (1, 8, 8)
    model = build(name, input_shape=shape, num_classes=7, seed=1)
    assert model(torch.zeros(3, *shape)).shape == (3, 7)


def test_what_pays_for_privacy_never_waits_for_rows() -> None:
    """A rule that keeps the model when few users came would tell how many came, and no noise hides that."""
    for aggregator in parts("aggregator"):
        if aggregator.sensitivity(1.0, "add/remove") is not None:
            assert aggregator.least_rows == 0
            assert aggregator.missing_as_zero


PICTURES, PICTURE_MODEL = tiny_pictures(), tiny_picture_model()


SOME_USERS = NamedUsers(users=(1, 4, 9))


def attack_by(part: Any, who: Any = SOME_USERS) -> Attack:
    """One poisoning and nothing else, with the least knowledge that it needs."""
    if part in parts("poisoning"):
        return Attack(who=who, data=(part,))
    return Attack(who=who, model=(part,), knowledge=part.needs)


# Whoever skips local privacy must have some: that one is tried against the presets only.
ATTACK_PARTS = [
    part for part in (*parts("poisoning"), *parts("model poisoning")) if part != SkipLocalPrivacy()
]
ATTACKS = [*map(attack_by, ATTACK_PARTS), *(attack_by(SinglePixel(), who) for who in parts("who"))]


def under(
    staged: Staged | None, algorithm: Algorithm, *, rounds: int = 2, state: ServerState | None = None
) -> list[tuple[ServerState, RoundLog]]:
    """A training under attack, or without one."""
    return list(
        fedward.train(
            staged.algorithm if staged else algorithm,
            PICTURE_MODEL,
            staged.federation if staged else PICTURES,
            rounds=rounds,
            seed=1,
            adversary=staged.adversary if staged else None,
            state=state,
        )
    )


@pytest.mark.parametrize("part", parts("poisoning"), ids=repr)
def test_a_poisoning_keeps_shapes_leaves_its_input_alone_and_repeats_itself(part: Any) -> None:
    mine = PICTURES.user(1)
    before = mine.x.clone(), mine.y.clone()  # type: ignore[union-attr]
    part.check(PICTURES, 3)
    for mask in (part.held_out(mine), part.eligible(mine)):
        assert mask.shape == (6,)
        assert mask.dtype == torch.bool
    assert not bool((part.held_out(mine) & ~part.eligible(mine)).any())
    for attacker in range(3):
        bad = part.poison(mine, attacker, 3)
        assert bad.x.shape == mine.x.shape  # type: ignore[union-attr]
        assert bad.x.dtype == mine.x.dtype  # type: ignore[union-attr]
        assert bad.y.tolist() == [part.target] * 6
        results = [poisoned(part, mine, attacker, 3, np.random.default_rng(0)) for _ in range(2)]
        assert torch.equal(results[0].x, results[1].x)  # type: ignore[arg-type]
        assert torch.equal(results[0].y, results[1].y)
    assert torch.equal(before[0], mine.x)  # type: ignore[arg-type]
    assert torch.equal(before[1], mine.y)


@pytest.mark.parametrize("attack", ATTACKS, ids=repr)
def test_a_training_under_attack_repeats_itself_and_goes_on_from_a_stored_state(attack: Attack) -> None:
    staged = attack.stage(tiny_algorithm(), PICTURES, 1)
    again = attack.stage(tiny_algorithm(), PICTURES, 1)
    assert staged.adversary == again.adversary
    whole, same = under(staged, staged.algorithm, rounds=3), under(again, again.algorithm, rounds=3)
    for (one, _), (other, _) in zip(whole, same, strict=True):
        assert torch.equal(one.parameters, other.parameters)
    resumed = under(again, again.algorithm, rounds=3, state=whole[0][0])
    assert torch.equal(resumed[-1][0].parameters, whole[-1][0].parameters)
    assert resumed[-1][0].ledger == whole[-1][0].ledger
    assert bool(torch.isfinite(whole[-1][0].parameters).all())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recorder(Mean):
    """A mean that keeps every row that comes to it."""

    rows: list[torch.Tensor]

    def add(self, total: torch.Tensor, row: torch.Tensor, num_examples: int) -> torch.Tensor:
        self.rows.append(row.clone())
        return super().add(total, row, num_examples)


@pytest.mark.parametrize("attack", ATTACKS, ids=repr)
def test_an_attack_touches_its_own_users_data_and_rows_only(attack: Attack) -> None:
    # So many that some attacker is always among them.
    staged = attack.stage(tiny_algorithm(sampler=FixedSizeSampler(size=10)), PICTURES, 1)
    before = staged.federation.examples.x.clone()  # type: ignore[union-attr]
    rounds = []
    for adversary in (staged.adversary, None):
        recorder = Recorder(expected_cohort=6.0, rows=[])
        algorithm = dataclasses.replace(
            staged.algorithm, aggregator=recorder, noise=NoNoise(), policy=NoClipping()
        )
        state = algorithm.init(FlatModule(PICTURE_MODEL).parameters.clone())
        plan = plan_round(algorithm, state, staged.federation, adversary, 1)
        state = dataclasses.replace(state, ledger=state.ledger.reserve(0, plan.event))
        rows = fedward.InProcess(PICTURE_MODEL, staged.federation).train(plan.jobs)
        finish_round(algorithm, state, plan, rows, 1)
        assert torch.equal(state.parameters, FlatModule(PICTURE_MODEL).parameters)
        rounds.append(list(zip(plan.jobs, recorder.rows, strict=True)))
    theirs = staged.adversary.users
    assert theirs & {job.user for job, _ in rounds[0]}
    for (job, sent), (honest, trained) in zip(*rounds, strict=True):
        assert (job.user, job.num_examples, job.seed) == (honest.user, honest.num_examples, honest.seed)
        if job.user not in theirs:
            assert job.examples is None
            assert (job.version, job.trainer) == ("", honest.trainer)
            assert torch.equal(job.parameters, honest.parameters)
            assert torch.equal(sent, trained)
    assert torch.equal(before, staged.federation.examples.x)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ATTACK_PARTS, ids=repr)
def test_an_empty_cohort_no_attacker_and_only_attackers_are_trainings_like_any_other(part: Any) -> None:
    nobody = tiny_algorithm(sampler=PoissonSampler(rate=1e-9))
    states = under(attack_by(part).stage(nobody, PICTURES, 1), nobody)
    assert all(log.telemetry is not None and not log.telemetry.cohort for _, log in states)
    assert torch.equal(states[-1][0].parameters, under(None, nobody)[-1][0].parameters)

    algorithm = tiny_algorithm()
    none = attack_by(part, RandomUsers(count=0)).stage(algorithm, PICTURES, 1)
    clean = under(None, algorithm)[-1][0].parameters
    assert torch.equal(under(none, algorithm)[-1][0].parameters, clean)

    everybody = under(attack_by(part, RandomUsers(count=12)).stage(algorithm, PICTURES, 1), algorithm)
    assert bool(torch.isfinite(everybody[-1][0].parameters).all())
    for _, log in everybody:
        assert log.telemetry is not None
        assert log.telemetry.malicious == log.telemetry.cohort
        assert log.telemetry.norms_of(malicious=False) == ()


@pytest.mark.parametrize("part", [*ATTACK_PARTS, SkipLocalPrivacy()], ids=repr)
def test_an_attack_can_be_carried_out_against_every_preset(part: Any) -> None:
    assert {type(algorithm.aggregator) for algorithm in PRESET_EXAMPLES.values()} == set(AGGREGATORS.values())
    for preset in PRESET_EXAMPLES.values():
        quick = tiny_sgd(epochs=None, steps=1) if isinstance(preset.local, SGD) else preset.local
        algorithm = dataclasses.replace(preset, local=quick)
        staged = attack_by(part).stage(algorithm, PICTURES, 1)
        if part == SkipLocalPrivacy() and algorithm.accounting == "server":
            with pytest.raises(InvalidValue, match="only users that protect themselves can skip"):
                under(staged, algorithm)
            continue
        state, log = under(staged, algorithm)[-1]
        assert bool(torch.isfinite(state.parameters).all()), algorithm.name
        assert log.telemetry is not None
        assert log.telemetry.rejected == (), algorithm.name
        # What is promised stays as it was or is taken back: no attack makes a promise.
        assert state.ledger == staged.algorithm.planned_ledger(12, 2)
        same = (algorithm, dataclasses.replace(algorithm, deviating=True))
        assert staged.algorithm in same or staged.algorithm.unproven, algorithm.name
