"""What holds for every model poisoning: the file format, shapes, determinism, and what is left alone."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter
from torch import Tensor

import fedward
from fedward.aggregation import CoordinateMedian, Krum
from fedward.attacks import Attacker, Conduct
from fedward.attacks.attack_types import OwnWayToTrain
from fedward.attacks.model_poisoning import (
    MODEL_POISONINGS,
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
from fedward.config.part_slot import OneOf
from fedward.config.sections import PartSection
from fedward.core.types import PrivateTrainer, Sight
from fedward.local import FullGradient, NoisyGradient
from support import tiny_algorithm, tiny_federation, tiny_model, tiny_sgd

SGD_TABLE = '{name = "sgd", learning_rate = 0.1, batch_size = 2, epochs = 1}'
TABLES: dict[str, Any] = {
    'name = "scale"\nfactor = 50': Scale(factor=50),
    'name = "train_and_scale"\nfactor = 5.0\nlocal = {name = "full_gradient"}': TrainAndScale(
        local=FullGradient(), factor=5.0
    ),
    f'name = "train_and_scale"\nfactor = 5.0\nnorm = 0.3\nlocal = {SGD_TABLE}': TrainAndScale(
        local=tiny_sgd(), factor=5.0, norm=0.3
    ),
    f'name = "constrain_and_scale"\nfactor = 5.0\nlocal = {SGD_TABLE}': ConstrainAndScale(
        local=tiny_sgd(), factor=5.0
    ),
    f'name = "alternating_minimisation"\nfactor = 5.0\nstealth = 3\nlocal = {SGD_TABLE}': (
        AlternatingMinimisation(local=tiny_sgd(), factor=5.0, stealth=3)
    ),
    'name = "neurotoxin"\nshare = 0.3': Neurotoxin(share=0.3),
    'name = "sign_flip"': SignFlip(),
    'name = "gaussian"\nstd = 0.5': GaussianUpdate(std=0.5),
    'name = "a_little_is_enough"': ALittleIsEnough(),
    'name = "a_little_is_enough"\ndeviations = 1.5': ALittleIsEnough(deviations=1.5),
    'name = "inner_product"\nfactor = 0.5': InnerProductManipulation(factor=0.5),
    'name = "optimised_a_little"\nsteps = 3\nrule = {name = "median"}': OptimisedALittle(
        rule=CoordinateMedian(), steps=3
    ),
    'name = "optimised_inner_product"\nsteps = 3\nrule = {name = "krum", malicious = 1}': (
        OptimisedInnerProduct(rule=Krum(malicious=1), steps=3)
    ),
    'name = "adaptive_backdoor"\nsteps = 2\nspreads = [0.0, 2.0]\nrule = {name = "median"}': AdaptiveBackdoor(
        rule=CoordinateMedian(), steps=2, spreads=(0.0, 2.0)
    ),
    'name = "min_max"': MinMax(),
    'name = "min_sum"\ndirection = "unit"': MinSum(direction="unit"),
    'name = "fang_krum"\nmalicious = 2': FangKrum(malicious=2),
    'name = "fang_trimmed_mean"\nfactor = 3.0': FangTrimmedMean(factor=3.0),
    'name = "mimic"': Mimic(),
    'name = "collude"': Collude(),
    'name = "collude"\nspread = 0.1': Collude(spread=0.1),
    'name = "skip_local_privacy"\nfactor = 10': SkipLocalPrivacy(factor=10),
}
PARTS = list(TABLES.values())
UNSEEN_ALONE = (Collude, ALittleIsEnough, MinMax, MinSum, FangTrimmedMean)


def rows(seed: int, count: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(count, 6, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def seen(part: Any, dtype: torch.dtype = torch.float32, others: int = 1) -> Sight:
    """A sight with two attackers; ``others`` is the seed of all rows but the first."""
    own = {3: rows(0, 1, dtype)[0], 5: rows(others, 1, dtype)[0]}
    knows = part.needs == "cohort"
    return Sight(
        round=0,
        parameters=torch.zeros(6, dtype=dtype),
        bounds=(0.5,),
        own=own,
        cohort=tuple(range(9)) if knows else None,
        honest=rows(10 + others, 7, dtype) if knows else None,
    )


def tampered(part: Any, sight: Sight, user: int = 3, seed: int = 0) -> Tensor:
    row: Tensor = part.tamper(sight.own[user].clone(), sight, np.random.default_rng(seed))
    return row


@pytest.mark.parametrize("table", TABLES, ids=lambda table: repr(TABLES[table]))
def test_a_part_can_be_written_in_an_experiment_file(table: str) -> None:
    section = TypeAdapter(Annotated[PartSection, OneOf(registry=MODEL_POISONINGS, trial={})])
    assert section.validate_python(tomllib.loads(table)).build() == TABLES[table]


def test_every_registered_part_is_tried_here() -> None:
    assert {type(part) for part in PARTS} == set(MODEL_POISONINGS.values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_a_row_has_shape_and_type_of_the_update_and_can_be_drawn_again(part: Any, dtype: torch.dtype) -> None:
    row = tampered(part, seen(part, dtype))
    assert row.shape == (6,)
    assert row.dtype == dtype
    assert bool(torch.isfinite(row).all())
    assert torch.equal(row, tampered(part, seen(part, dtype)))


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_what_is_seen_is_left_as_it_was(part: Any) -> None:
    sight, before = seen(part), seen(part)
    for user in sight.own:
        tampered(part, sight, user)
    assert all(torch.equal(sight.own[user], before.own[user]) for user in sight.own)
    assert torch.equal(sight.parameters, before.parameters)
    if sight.honest is not None and before.honest is not None:
        assert torch.equal(sight.honest, before.honest)


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_a_part_reads_other_rows_exactly_if_it_says_so(part: Any) -> None:
    same = torch.equal(tampered(part, seen(part)), tampered(part, seen(part, others=2)))
    assert same == (not part.conduct.needs_all_rows)


@pytest.mark.parametrize("users", [{1}, {0, 4, 7}, set(range(12))], ids=["one", "some", "only attackers"])
@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_a_training_under_attack_goes_on_and_repeats_itself(part: Any, users: set[int]) -> None:
    crew = Attacker(users=frozenset(users), knowledge=part.needs, rounds=None, data=(), model=(part,))
    federation, model = tiny_federation(), tiny_model()
    # Who skips its own protection must have been told to protect itself.
    private = NoisyGradient(noise_multiplier=1.0, clip_bound=0.5)
    algorithm = tiny_algorithm(local=private if isinstance(part, SkipLocalPrivacy) else tiny_sgd())
    if part.needs == "cohort":  # such attackers leave no guarantee, and the algorithm must say so
        algorithm = replace(algorithm, void="attackers see all updates")

    def train(adversary: Attacker | None) -> Tensor:
        steps = list(fedward.rounds(algorithm, model, federation, rounds=3, seed=1, adversary=adversary))
        return steps[-1][0].parameters

    attacked = train(crew)
    assert bool(torch.isfinite(attacked).all())
    assert torch.equal(attacked, train(crew))
    if not isinstance(part, UNSEEN_ALONE):  # one of them alone, or in a mean, changes nothing
        assert not torch.equal(attacked, train(None))


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_every_attack_of_ours_declares_what_it_does_itself(part: Any) -> None:
    assert "conduct" in vars(type(part))
    assert isinstance(part.conduct, Conduct)
    assert part.needs in ("own", "cohort")


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_an_attack_that_discards_what_was_trained_sends_the_same_whatever_it_was(part: Any) -> None:
    sight = seen(part)
    other = replace(sight, own={user: row * -3 + 1 for user, row in sight.own.items()})
    same = torch.equal(tampered(part, sight), tampered(part, other))
    # One that looks at honest rows uses its own where there are none of these.
    assert same == part.conduct.discards_update or (
        not part.conduct.discards_update and part.needs == "cohort"
    )


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_an_attack_trains_and_protects_itself_as_it_says(part: Any) -> None:
    told = NoisyGradient(noise_multiplier=2.0, clip_bound=0.5)
    found = part.trainer(told, 0, (0.5,)) if isinstance(part, OwnWayToTrain) else told
    assert part.conduct.trains_its_own_way == (found != told)
    assert part.conduct.skips_local_privacy == (not isinstance(found, PrivateTrainer))


def test_whoever_trains_with_a_private_trainer_of_its_own_does_not_skip_its_privacy() -> None:
    assert not TrainAndScale(
        local=NoisyGradient(noise_multiplier=2.0), factor=5.0
    ).conduct.skips_local_privacy
