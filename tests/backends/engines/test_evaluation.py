from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedward.backends.engines.choice import Engine
from fedward.backends.engines.evaluation import confidences, evaluate
from fedward.backends.engines.flat_model import flat_model
from fedward.core.examples import Examples, Ragged
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from support import tiny_sgd

COUNT = 450  # more than two batches


def pictures(channels: int = 1) -> Examples:
    generator = torch.Generator().manual_seed(0)
    return Examples(torch.randn(COUNT, channels, 6, 6, generator=generator), torch.arange(COUNT) % 3)


def small_cnn(channels: int = 1) -> nn.Module:
    torch.manual_seed(channels)
    return nn.Sequential(nn.Conv2d(channels, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))


def softmax_regression() -> nn.Module:
    torch.manual_seed(7)
    return nn.Sequential(nn.Flatten(), nn.Linear(36, 3))


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(10, 3, padding_idx=0)

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.table(tokens)
        return scores


def texts() -> Examples:
    rng = np.random.default_rng(0)
    x = Ragged.from_sequences([rng.integers(1, 10, size=rng.integers(1, 6)) for _ in range(COUNT)])
    return Examples(x, torch.arange(COUNT) % 3)


@pytest.mark.parametrize(
    ("module", "examples"),
    [
        (small_cnn(), pictures()),
        (small_cnn(3), pictures(3)),
        (softmax_regression(), pictures()),
        (Words(), texts()),
    ],
)
def test_a_model_is_measured_on_all_examples_whatever_the_batches(
    module: nn.Module, examples: Examples
) -> None:
    x, y = examples.batch(torch.arange(COUNT))
    scores = module(x).detach()
    parameters = ParameterSpec.of(module).flatten(module)
    engine, model = Engine(module), flat_model(module)
    for found in (engine.evaluate(parameters, examples), evaluate(model, parameters, examples, 7)):
        assert found.accuracy == float((scores.argmax(1) == y).double().mean())
        assert found.loss == pytest.approx(float(cross_entropy(scores, y)), rel=1e-5)
        assert found.examples == COUNT
    expected = torch.softmax(scores, 1).numpy()
    for confident in (
        engine.confidences(parameters, examples),
        confidences(model, parameters, examples, 7),
    ):
        assert confident.dtype == np.float32
        np.testing.assert_allclose(confident, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("module", [small_cnn(), softmax_regression()])
def test_bits_do_not_depend_on_what_was_measured_before(module: nn.Module) -> None:
    examples, parameters = pictures(), ParameterSpec.of(module).flatten(module)
    alone = Engine(module).confidences(parameters, examples)
    engine = Engine(module)
    engine.confidences(2 * parameters, examples)
    engine.evaluate(parameters, examples.span(3, 100))
    assert np.array_equal(engine.confidences(parameters, examples), alone)


def test_examples_that_were_changed_are_seen() -> None:
    module, examples = small_cnn(), pictures()
    parameters, engine = ParameterSpec.of(module).flatten(module), Engine(module)
    before = engine.confidences(parameters, examples)
    assert isinstance(examples.x, Tensor)
    examples.x.numpy()[:] *= -1
    after = engine.confidences(parameters, examples)
    assert not np.allclose(before, after)
    assert np.array_equal(after, Engine(module).confidences(parameters, examples))


@pytest.mark.parametrize("module", [small_cnn(), softmax_regression()])
def test_a_model_that_is_not_finite_has_no_opinion(module: nn.Module) -> None:
    broken = torch.full_like(ParameterSpec.of(module).flatten(module), float("nan"))
    engine, examples = Engine(module), pictures()
    assert np.array_equal(engine.confidences(broken, examples), np.full((COUNT, 3), 1 / 3, np.float32))
    assert engine.evaluate(broken, examples).accuracy == 0


class RemembersItsMask(nn.Module):
    """As models of text do with their masks: made at the first call, kept for all others."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(36, 3)
        self.mask: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if self.mask is None:
            self.mask = torch.ones(3) * 2
        scores: Tensor = self.inner(x.flatten(1)) * self.mask
        return scores


def test_a_model_can_be_trained_after_it_was_measured() -> None:
    module, examples = RemembersItsMask(), pictures()
    parameters, engine = ParameterSpec.of(module).flatten(module), Engine(module)
    engine.evaluate(parameters, examples)
    job = Job(parameters=parameters, user=0, num_examples=9, trainer=tiny_sgd(), seed=0)
    fresh = Engine(module).train(job, examples.span(0, 9)).update
    assert torch.equal(engine.train(job, examples.span(0, 9)).update, fresh)


def test_the_number_of_threads_is_left_as_it_was() -> None:
    module, before = small_cnn(), torch.get_num_threads()
    engine, parameters = Engine(module), ParameterSpec.of(module).flatten(module)
    engine.evaluate(parameters, pictures())
    engine.confidences(parameters, pictures())
    assert torch.get_num_threads() == before
