from __future__ import annotations

import numpy as np
import pytest
import torch

import fedward
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.features import feature_directions, gradient_directions
from fedward.models import build


def test_feature_directions_are_orthonormal_and_hold_most() -> None:
    generator = torch.manual_seed(0)
    vectors = torch.randn(50, 3, generator=generator) @ torch.randn(3, 8, generator=generator)
    found = torch.from_numpy(feature_directions(vectors, rank=3))
    torch.testing.assert_close(found @ found.T, torch.eye(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(vectors @ found.T @ found, vectors, atol=1e-4, rtol=0)


def test_gradients_lie_in_the_directions_of_all_of_them() -> None:
    generator = torch.manual_seed(0)
    examples = Examples.from_arrays(torch.randn(6, 4, generator=generator), [0, 1, 2, 0, 1, 2])
    model = build("linear_head", input_shape=(4,), num_classes=3, seed=0)
    found = torch.from_numpy(gradient_directions(model, examples, rank=6))
    assert found.shape == (6, 12)
    x, y = examples.batch(torch.arange(6))
    loss = torch.nn.functional.cross_entropy(model(x), y)
    (gradient,) = torch.autograd.grad(loss, list(model.parameters()))
    flat = gradient.flatten()
    torch.testing.assert_close(flat @ found.T @ found, flat, atol=1e-5, rtol=0)
    assert all(each.grad is None for each in model.parameters())


def test_more_directions_than_there_are_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"rank must be at most 2, .* got 3"):
        feature_directions(torch.ones(2, 5), rank=3)
    with pytest.raises(InvalidValue, match="one for each example"):
        feature_directions(torch.ones(2, 5, 5), rank=1)


def test_class_means_lie_in_the_directions_of_all_vectors() -> None:
    digits = fedward.datasets.digits.load(users=20, seed=0)
    assert isinstance(digits.examples.x, torch.Tensor)
    vectors = digits.examples.x.flatten(1)
    found = feature_directions(vectors, rank=np.linalg.matrix_rank(vectors.numpy()))
    mean = vectors[digits.examples.y == 3].mean(dim=0).numpy()
    np.testing.assert_allclose(mean @ found.T @ found, mean, atol=1e-4)
