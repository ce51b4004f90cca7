from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from dp_accounting import GaussianDpEvent
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.types import PrivateTrainer
from fedward.local import FullGradient
from fedward.local.noisy_gradient import NoisyGradient
from fedward.privacy import Ledger
from support import tiny_federation, tiny_model

EXAMPLES = tiny_federation(num_users=1, per_user=23).user(0)


def sent(trainer: Any, seed: int = 0, examples: Examples = EXAMPLES) -> Tensor:
    """The update, in double precision."""
    model = FlatModule(tiny_model())
    before = model.parameters.double()
    trainer.train(model, examples, np.random.default_rng(seed))
    return model.parameters.double() - before


def noise(seed: int, std: float) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(26)) * std


@pytest.mark.parametrize("chunk", [1, 7, 512])
@pytest.mark.parametrize("bound", [0.01, 1e3])
def test_it_sends_the_clipped_gradient_with_noise(chunk: int, bound: float) -> None:
    trainer = NoisyGradient(noise_multiplier=2.0, clip_bound=bound, learning_rate=0.3, chunk_size=chunk)
    plain = tiny_model()
    cross_entropy(plain(EXAMPLES.x), EXAMPLES.y).backward()  # type: ignore[no-untyped-call]
    gradient = torch.cat([p.grad.reshape(-1) for p in plain.parameters() if p.grad is not None]).double()
    clipped = gradient * min(1.0, bound / float(gradient.norm()))
    wanted = -0.3 * (clipped + noise(3, 2.0 * bound))
    torch.testing.assert_close(sent(trainer, seed=3), wanted, rtol=1e-5, atol=1e-6 * max(1.0, bound))


def test_without_clipping_or_noise_it_is_the_full_gradient() -> None:
    trainer = NoisyGradient(noise_multiplier=1e-12, clip_bound=1e3)
    torch.testing.assert_close(sent(trainer), sent(FullGradient()), rtol=1e-5, atol=1e-6)


def test_all_data_replaced_moves_what_is_sent_by_at_most_twice_the_bound() -> None:
    bound = 0.05
    trainer = NoisyGradient(noise_multiplier=1.0, clip_bound=bound)
    flipped = Examples(1e3 * EXAMPLES.x, 1 - EXAMPLES.y)  # type: ignore[operator,arg-type]
    distance = float((sent(trainer) - sent(trainer, examples=flipped)).norm())
    assert bound < distance <= 2 * bound * (1 + 1e-5)
    assert trainer.local_event(0) == GaussianDpEvent(0.5)


def test_a_gradient_that_is_not_finite_counts_as_zero() -> None:
    x = EXAMPLES.x.clone()  # type: ignore[union-attr]
    x[0] = torch.inf
    trainer = NoisyGradient(noise_multiplier=2.0, clip_bound=0.5)
    found = sent(trainer, seed=4, examples=Examples(x, EXAMPLES.y))
    torch.testing.assert_close(found, -noise(4, 1.0), rtol=1e-5, atol=1e-6)


def test_a_user_without_examples_sends_noise() -> None:
    nothing = Examples(torch.zeros(0, 3), torch.zeros(0, dtype=torch.int64))
    found = sent(NoisyGradient(noise_multiplier=2.0, clip_bound=0.5), seed=4, examples=nothing)
    torch.testing.assert_close(found, -noise(4, 1.0), rtol=1e-5, atol=1e-6)


def test_nothing_of_the_user_before_is_left_in_the_gradient() -> None:
    model = FlatModule(tiny_model())
    model.gradient.fill_(7.0)
    before = model.parameters.clone()
    trainer = NoisyGradient(noise_multiplier=1e-12, clip_bound=1e3)
    trainer.train(model, EXAMPLES, np.random.default_rng(0))
    torch.testing.assert_close((model.parameters - before).double(), sent(trainer), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bound", [0.01, 1e3])
def test_it_tells_the_norm_that_the_gradient_had_before_clipping(bound: float) -> None:
    model = FlatModule(tiny_model())
    trainer = NoisyGradient(noise_multiplier=1.0, clip_bound=bound)
    norm = trainer.train(model, EXAMPLES, np.random.default_rng(0))
    assert norm == pytest.approx(float(sent(FullGradient()).norm()), rel=1e-4)


def test_seeded_noise_repeats_itself_and_system_noise_does_not() -> None:
    trainer = NoisyGradient(noise_multiplier=1.0, clip_bound=0.5)
    system = NoisyGradient(noise_multiplier=1.0, clip_bound=0.5, noise_source="system")
    assert torch.equal(sent(trainer), sent(trainer))
    assert not torch.equal(sent(trainer, 1), sent(trainer, 2))
    assert not torch.equal(sent(system), sent(system))


def test_it_declares_what_it_does_to_privacy() -> None:
    trainer = NoisyGradient(noise_multiplier=4.0, clip_bound=0.5)
    assert isinstance(trainer, PrivateTrainer)
    assert (trainer.unit, trainer.adjacency) == ("user", "local")
    ledger = Ledger(unit="user", adjacency="local", noise_source="seeded")
    guarantee = ledger.charged(trainer.local_event(0), 10).guarantee(1e-5, "pld")
    # Ten Gaussian mechanisms with sensitivity 2C and noise 4C are one with 2/sqrt(10).
    alone = ledger.charged(GaussianDpEvent(2.0 / math.sqrt(10)), 1).guarantee(1e-5, "pld")
    assert guarantee.epsilon == pytest.approx(alone.epsilon, rel=1e-3)


def test_the_round_gives_the_learning_rate_and_a_bound_where_there_is_none() -> None:
    own = NoisyGradient(noise_multiplier=1.0, clip_bound=0.5, learning_rate_decay=0.5)
    assert own.at_round(2, (9.0,)) == NoisyGradient(noise_multiplier=1.0, clip_bound=0.5, learning_rate=0.25)
    policy = NoisyGradient(noise_multiplier=1.0)
    assert policy.at_round(3, (0.125,)).clip_bound == 0.125
    with pytest.raises(InvalidValue, match="needs one that is known before the round"):
        policy.at_round(0, (0.1, 0.2))
    with pytest.raises(InvalidValue, match="use at_round first"):
        sent(policy)


def test_batch_normalisation_is_refused() -> None:
    model = FlatModule(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)))
    trainer = NoisyGradient(noise_multiplier=1.0, clip_bound=0.5)
    with pytest.raises(InvalidValue, match="layer 1 is BatchNorm1d"):
        trainer.train(model, EXAMPLES, np.random.default_rng(0))


@pytest.mark.parametrize(
    "changes",
    [
        {"noise_multiplier": 0.0},
        {"clip_bound": -1.0},
        {"clip_bound": math.inf},
        {"learning_rate": 0.0},
        {"learning_rate_decay": 1.5},
        {"chunk_size": 0},
        {"noise_source": "dice"},
    ],
)
def test_impossible_settings_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        NoisyGradient(**({"noise_multiplier": 1.0} | changes))


def test_settings_of_the_wrong_type_are_refused() -> None:
    with pytest.raises(InvalidType):
        NoisyGradient(noise_multiplier=True)
