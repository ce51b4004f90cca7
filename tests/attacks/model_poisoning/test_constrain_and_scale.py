from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedward.attacks import Attacker
from fedward.attacks.model_poisoning import ConstrainAndScale, TrainAndScale
from fedward.backends.in_process import InProcess
from fedward.base.validate import InvalidType, InvalidValue
from fedward.clipping import FlatNorm, PolynomialDecay, RawMedian
from fedward.core.algorithm import Algorithm
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.core.types import Sight
from fedward.local import SGD, ProjectedSGD
from fedward.presets import fedavg, norm_bounding
from fedward.sampling import EveryoneSampler
from support import one_round, plan_simulated, tiny_algorithm, tiny_federation, tiny_model, tiny_sgd

FEDERATION, MODEL = tiny_federation(per_user=23), tiny_model()
FAST = tiny_sgd(learning_rate=0.5, epochs=5)


def server(**changes: Any) -> Algorithm:
    return tiny_algorithm(sampler=EveryoneSampler(), **changes)


def attack(part: Any, algorithm: Algorithm) -> tuple[Any, Tensor, Tensor]:
    """The job of the attacker, what it trained and what it sends."""
    adversary = Attacker(users=frozenset({4}), knowledge="own", rounds=None, data=(), model=(part,))
    state = algorithm.init(ParameterSpec.of(MODEL).flatten(MODEL))
    plan = plan_simulated(algorithm, state, FEDERATION, adversary, 1)
    job = plan.jobs[4]
    (row,) = InProcess(MODEL, FEDERATION).train([job])
    own = {4: row.update}
    sight = Sight(round=0, parameters=state.parameters, bounds=plan.bounds, own=own)
    return job, row.update, adversary.tamper(4, row.update.clone(), sight, np.random.default_rng(0))


@pytest.mark.parametrize("factor", [1.0, 7.3, 50.0, 1000.0])
@pytest.mark.parametrize("bound", [0.05, 0.7])
def test_the_row_survives_the_clipping_to_the_last_bit_and_uses_the_most_of_the_bound(
    factor: float, bound: float
) -> None:
    _, trained, sent = attack(ConstrainAndScale(local=FAST, factor=factor), server(clip_bound=bound))
    (norm,) = FlatNorm().measure(sent)
    assert torch.equal(FlatNorm().clip(sent, (norm,), (bound,)), sent)
    assert 0.999 * bound < norm <= bound
    # In the model's float32 the walls of a small ball are rough: a few units in the last place of weights.
    assert float(trained.double().norm()) <= bound / factor * (1 + 1e-3)
    assert torch.allclose(sent, trained * factor, rtol=1e-3)


def test_a_whole_round_takes_the_row_as_it_was_sent() -> None:
    algorithm = norm_bounding(num_users=12, sampler=EveryoneSampler(), local=tiny_sgd(), clip_bound=0.5)
    _, trained, sent = attack(ConstrainAndScale(local=FAST, factor=10.0), algorithm)
    part = ConstrainAndScale(local=FAST, factor=10.0)
    adversary = Attacker(users=frozenset({4}), knowledge="own", rounds=None, data=(), model=(part,))
    state = algorithm.init(ParameterSpec.of(MODEL).flatten(MODEL))
    after, _, _ = one_round(
        algorithm, state, FEDERATION, lambda u: trained if u == 4 else None, adversary=adversary
    )
    wanted = state.parameters.double() + sent.double() / 12
    assert torch.allclose(after.parameters.double(), wanted, atol=1e-7)


def test_it_walks_in_the_ball_that_the_factor_leaves_of_the_bound() -> None:
    job, _, _ = attack(ConstrainAndScale(local=FAST, factor=8.0), server(clip_bound=0.5))
    assert job.trainer == ProjectedSGD(sgd=FAST).at_round(0, (0.0625,))


def test_it_follows_the_bound_and_its_own_learning_rate_from_round_to_round() -> None:
    part = ConstrainAndScale(local=tiny_sgd(learning_rate_decay=0.5), factor=2.0)
    policy = PolynomialDecay(initial=0.8, power=1.0, rounds=4)
    for t in (0, 1, 2):
        trainer = part.trainer(tiny_sgd(), t, policy.bound(policy.init(), t, None))
        assert trainer.bound == pytest.approx(0.8 * (1 - t / 4) / 2)  # type: ignore[attr-defined]
        assert trainer.sgd.learning_rate == 0.1 * 0.5**t  # type: ignore[attr-defined]


def test_a_norm_of_its_own_goes_before_the_servers_bound() -> None:
    part = ConstrainAndScale(local=FAST, factor=4.0, norm=0.2)
    for algorithm in (server(clip_bound=0.7), server(clip_bound=None, policy=RawMedian())):
        job, _, sent = attack(part, algorithm)
        assert job.trainer.bound == 0.05
        assert 0.999 * 0.2 < float(sent.double().norm()) <= 0.2


def local_loss(update: Tensor) -> float:
    model = FlatModule(tiny_model())
    model.parameters.add_(update)
    x, y = FEDERATION.user(4).batch(torch.arange(23))
    with torch.no_grad():
        return float(cross_entropy(model(x), y))


def test_it_reaches_its_goal_better_than_one_who_is_shortened_at_the_end() -> None:
    far = SGD(learning_rate=1.0, batch_size=23, epochs=200)
    for bound in (0.5, 1.0, 2.0):
        algorithm = server(clip_bound=bound)
        _, _, inside = attack(ConstrainAndScale(local=far, factor=1.0), algorithm)
        _, _, shortened = attack(TrainAndScale(local=far, factor=1.0, norm=bound), algorithm)
        assert float(shortened.norm()) == pytest.approx(float(inside.norm()), rel=1e-4)
        assert local_loss(inside) < local_loss(shortened)


LAYERS = ParameterSpec.of(MODEL).layer_sizes()
WITHOUT_ONE_BOUND: dict[str, Algorithm] = {
    "known only afterwards": server(clip_bound=None, policy=RawMedian()),
    "none": fedavg(sampler=EveryoneSampler(), local=tiny_sgd()),
    "one for each layer": server(clip_bound=(0.5, 0.3), clip="per-layer", layers=LAYERS),
}


@pytest.mark.parametrize("kind", WITHOUT_ONE_BOUND)
def test_a_round_without_one_bound_is_refused_before_any_training(kind: str) -> None:
    part = ConstrainAndScale(local=FAST, factor=2.0)
    with pytest.raises(InvalidValue, match="needs a norm, or one clip bound that is finite") as refusal:
        attack(part, WITHOUT_ONE_BOUND[kind])
    assert str(refusal.value).endswith("got (0.5, 0.3)" if "layer" in kind else "got none")


def test_a_row_without_one_bound_is_refused_as_well() -> None:
    sight = Sight(round=0, parameters=torch.zeros(3), bounds=(0.5, 0.3), own={})
    with pytest.raises(InvalidValue, match="needs a norm, or one clip bound"):
        ConstrainAndScale(local=FAST, factor=2.0).tamper(torch.ones(3), sight, np.random.default_rng(0))


@pytest.mark.parametrize("local", [None, ProjectedSGD(sgd=FAST)])
def test_other_local_training_than_sgd_is_refused(local: Any) -> None:
    with pytest.raises(InvalidType, match="must be SGD, got"):
        ConstrainAndScale(local=local, factor=1.0)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_factor_and_norm_of_the_ball_must_be_positive_and_finite(value: float) -> None:
    with pytest.raises(InvalidValue, match="scale factor must be positive and finite"):
        ConstrainAndScale(local=FAST, factor=value)
    with pytest.raises(InvalidValue, match="norm that the attacker keeps to must be positive and finite"):
        ConstrainAndScale(local=FAST, factor=1.0, norm=value)
