from __future__ import annotations

import numpy as np
import pytest
import torch

from fedward.base.validate import InvalidValue
from fedward.server import ServerModelClipping, ServerStep


@pytest.mark.parametrize("learning_rate", [0.5, 1.0])
def test_no_model_is_longer_than_its_norm_and_shorter_ones_are_left_alone(learning_rate: float) -> None:
    rng, server = np.random.default_rng(0), ServerModelClipping(norm=2.0, learning_rate=learning_rate)
    cut = 0
    for length in np.geomspace(0.01, 100, 60):
        parameters = torch.from_numpy(rng.standard_normal(9)).float()
        mean = torch.from_numpy(rng.standard_normal(9)) * length
        found, state = server.step(parameters, mean, server.init(parameters))
        plain, _ = ServerStep(learning_rate=learning_rate).step(parameters, mean, ())
        assert state == ()
        assert found.dtype == parameters.dtype
        assert float(found.double().norm()) <= 2.0 + 1e-6
        if float(plain.norm()) <= 2.0:
            assert torch.equal(found, plain)
        else:
            cut += 1
            torch.testing.assert_close(found / found.norm(), plain / plain.norm())
    assert 10 < cut < 60


def test_two_models_get_no_further_apart_by_it() -> None:
    rng, server = np.random.default_rng(1), ServerModelClipping(norm=1.0)
    zero = torch.zeros(5, dtype=torch.float64)
    for _ in range(300):
        a, b = (torch.from_numpy(rng.standard_normal(5) * rng.uniform(0, 3)) for _ in range(2))
        (after, _), (other, _) = server.step(zero, a, ()), server.step(zero, b, ())
        assert float((after - other).norm()) <= float((a - b).norm()) + 1e-12


def test_a_norm_of_zero_is_refused() -> None:
    with pytest.raises(InvalidValue, match="norm of the model must be positive and finite, got 0"):
        ServerModelClipping(norm=0.0)
