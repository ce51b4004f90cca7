from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.parameters import FlatModule, ParameterSpec
from fedward.local import SGD, FullGradient
from support import tiny_federation, tiny_model, tiny_sgd

EXAMPLES = tiny_federation(num_users=1, per_user=23).user(0)


def trained(trainer: Any, seed: int = 0) -> torch.Tensor:
    model = FlatModule(tiny_model())
    trainer.train(model, EXAMPLES, np.random.default_rng(seed))
    return model.parameters


@pytest.mark.parametrize(
    "trainer",
    [
        tiny_sgd(),
        tiny_sgd(momentum=0.9, epochs=3),
        tiny_sgd(weight_decay=0.1, batch_size=23),
        tiny_sgd(momentum=0.5, weight_decay=5e-4, batch_size=10, epochs=None, steps=7),
    ],
)
def test_it_takes_the_steps_of_torch_sgd(trainer: SGD) -> None:
    reference = tiny_model()
    optimiser = torch.optim.SGD(
        reference.parameters(),
        lr=trainer.learning_rate,
        momentum=trainer.momentum,
        weight_decay=trainer.weight_decay,
    )
    for index in trainer.batches(len(EXAMPLES), np.random.default_rng(0)):
        x, y = EXAMPLES.batch(index)
        optimiser.zero_grad()
        cross_entropy(reference(x), y).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    torch.testing.assert_close(trained(trainer), ParameterSpec.of(reference).flatten(reference))


@given(n=st.integers(1, 40), batch=st.integers(1, 50), epochs=st.integers(1, 4))
def test_every_epoch_sees_every_example_once(n: int, batch: int, epochs: int) -> None:
    trainer = SGD(learning_rate=1.0, batch_size=batch, epochs=epochs)
    batches = [b.tolist() for b in trainer.batches(n, np.random.default_rng(0))]
    per_epoch = -(-n // batch)
    assert len(batches) == epochs * per_epoch
    for start in range(0, len(batches), per_epoch):
        assert sorted(i for b in batches[start : start + per_epoch] for i in b) == list(range(n))
    assert all(1 <= len(b) <= batch for b in batches)


@given(n=st.integers(1, 40), batch=st.integers(1, 50), steps=st.integers(1, 30))
def test_steps_go_on_into_the_next_epoch(n: int, batch: int, steps: int) -> None:
    by_steps = SGD(learning_rate=1.0, batch_size=batch, steps=steps).batches(n, np.random.default_rng(0))
    by_epochs = SGD(learning_rate=1.0, batch_size=batch, epochs=steps).batches(n, np.random.default_rng(0))
    for index in range(steps):
        assert torch.equal(next(by_steps), next(by_epochs)), index
    assert next(by_steps, None) is None


@given(n=st.integers(1, 40), batch=st.integers(1, 50), steps=st.integers(1, 30))
def test_the_steps_are_counted_and_named_alike_everywhere(n: int, batch: int, steps: int) -> None:
    for trainer in (
        SGD(learning_rate=1.0, batch_size=batch, steps=steps),
        SGD(learning_rate=1.0, batch_size=batch, epochs=1 + steps % 3),
    ):
        tensors = list(trainer.batches(n, np.random.default_rng(0)))
        arrays = list(trainer.indices(n, np.random.default_rng(0)))
        assert len(tensors) == len(arrays) == trainer.num_steps(n)
        assert all(a.tolist() == b.tolist() for a, b in zip(tensors, arrays, strict=True))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_step_has_momentum_and_weight_decay(momentum: float) -> None:
    trainer = tiny_sgd(momentum=momentum, weight_decay=0.1)
    weights, gradient = torch.tensor([1.0, -2.0]), torch.tensor([0.5, 0.25])
    velocity = torch.tensor([0.1, 0.2]) if momentum else None
    expected_velocity = momentum * torch.tensor([0.1, 0.2]) + gradient + 0.1 * weights
    expected = weights - trainer.learning_rate * expected_velocity
    trainer.advance(weights, gradient, velocity)
    torch.testing.assert_close(weights, expected)
    if velocity is not None:
        torch.testing.assert_close(velocity, expected_velocity)


def test_shuffling_follows_the_given_stream() -> None:
    assert torch.equal(trained(tiny_sgd(), 1), trained(tiny_sgd(), 1))
    assert not torch.equal(trained(tiny_sgd(), 1), trained(tiny_sgd(), 2))


def test_the_learning_rate_decays_by_the_round() -> None:
    trainer = tiny_sgd(learning_rate=0.8, learning_rate_decay=0.5)
    assert [trainer.at_round(t, ()).learning_rate for t in range(3)] == [0.8, 0.4, 0.2]
    # Resolved once: a trainer of round 2 does not decay again.
    assert trainer.at_round(2, ()).at_round(1, ()).learning_rate == 0.2
    assert FullGradient(learning_rate_decay=0.5).at_round(1, ()).learning_rate == 0.5


def test_the_full_gradient_is_one_step_over_all_examples_in_any_chunks() -> None:
    reference = tiny_model()
    cross_entropy(reference(EXAMPLES.x), EXAMPLES.y).backward()  # type: ignore[no-untyped-call]
    before = ParameterSpec.of(reference).flatten(reference)
    gradient = torch.cat([p.grad.reshape(-1) for p in reference.parameters() if p.grad is not None])
    for chunk in (1, 5, 23, 512):
        torch.testing.assert_close(trained(FullGradient(chunk_size=chunk)), before - gradient)
    torch.testing.assert_close(trained(FullGradient(learning_rate=0.1)), before - 0.1 * gradient)


def test_weight_decay_leaves_running_statistics_alone() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    statistics = []
    for decay in (0.0, 0.5):
        model = FlatModule(copy.deepcopy(module))
        tiny_sgd(batch_size=23, weight_decay=decay).train(model, EXAMPLES, np.random.default_rng(0))
        statistics.append(model.parameters[model.spec.trainable :].clone())
    assert torch.equal(statistics[0], statistics[1])


@pytest.mark.parametrize(
    "changes",
    [
        {"learning_rate": 0.0},
        {"learning_rate": -0.1},
        {"learning_rate": float("nan")},
        {"learning_rate": float("inf")},
        {"batch_size": 0},
        {"epochs": 0},
        {"epochs": None},
        {"steps": 3},
        {"epochs": None, "steps": 0},
        {"momentum": 1.0},
        {"momentum": -0.1},
        {"weight_decay": -1e-9},
        {"weight_decay": float("nan")},
        {"learning_rate_decay": 0.0},
        {"learning_rate_decay": 1.1},
    ],
)
def test_impossible_settings_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        tiny_sgd(**changes)


@pytest.mark.parametrize("changes", [{"batch_size": 1.5}, {"epochs": True}, {"learning_rate": "0.1"}])
def test_settings_of_the_wrong_type_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidType):
        tiny_sgd(**changes)
