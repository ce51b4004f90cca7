from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fedward.base.validate import InvalidType, InvalidValue
from fedward.server import ServerShrinkage


def moved(server: ServerShrinkage, mean: Any) -> torch.Tensor:
    mean = torch.as_tensor(mean, dtype=torch.float64)
    return server.step(torch.zeros(len(mean), dtype=torch.float64), mean, ())[0]


@pytest.mark.parametrize("signal", [0.0, 0.5, 3.0, 100.0])
def test_the_shrunk_mean_is_nearer_to_the_true_one_whatever_that_is(signal: float) -> None:
    rng, d = np.random.default_rng(0), 20
    true = np.full(d, signal / np.sqrt(d))
    server, before, after = ServerShrinkage(noise_std=1.0), [], []
    for _ in range(2000):
        noisy = true + rng.standard_normal(d)
        before.append(((noisy - true) ** 2).sum())
        after.append(((moved(server, noisy).numpy() - true) ** 2).sum())
    # The gain at a signal of 100 noises is a thousandth: far less than what both have in common varies.
    gain = np.array(before) - np.array(after)
    assert gain.mean() + 4 * gain.std() / np.sqrt(len(gain)) > 0
    if signal <= 3:
        assert gain.mean() > 4 * gain.std() / np.sqrt(len(gain))


def test_small_coordinates_go_and_others_lose_as_much() -> None:
    server = ServerShrinkage(noise_std=0.5, threshold=2.0, learning_rate=2.0)
    assert moved(server, [3.0, -0.9, 1.0, -2.0]).tolist() == [4.0, 0.0, 0.0, -2.0]


def test_direction_stays_and_noise_alone_is_nothing() -> None:
    mean = torch.tensor([3.0, 4.0, 0.0], dtype=torch.float64)
    shrunk = moved(ServerShrinkage(noise_std=1.0), mean)
    torch.testing.assert_close(shrunk, mean * (1 - 1 / 25))
    assert moved(ServerShrinkage(noise_std=10.0), mean).tolist() == [0.0, 0.0, 0.0]
    assert moved(ServerShrinkage(noise_std=10.0), [0.0] * 3).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "settings", [{"noise_std": 0.0}, {"noise_std": 1.0, "threshold": -1.0}, {"noise_std": "1"}]
)
def test_impossible_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises((InvalidType, InvalidValue)):
        ServerShrinkage(**settings)
