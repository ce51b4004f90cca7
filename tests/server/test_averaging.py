from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedward.base.validate import InvalidType, InvalidValue
from fedward.server import ServerAveraging, ServerStep

numbers = st.floats(-10.0, 10.0)


def models(server: Any, means: list[float]) -> list[float]:
    parameters, found = torch.zeros(1, dtype=torch.float64), []
    state = server.init(parameters)
    for mean in means:
        parameters, state = server.step(parameters, torch.tensor([mean], dtype=torch.float64), state)
        found.append(float(parameters))
    return found


@given(st.lists(numbers, min_size=1, max_size=12), st.integers(0, 6))
def test_the_model_is_the_mean_of_all_iterates_from_the_first_on(means: list[float], first: int) -> None:
    iterates = models(ServerStep(), means)
    for t, model in enumerate(models(ServerAveraging(first=first), means)):
        expected = iterates[t] if t < first else sum(iterates[first : t + 1]) / (t + 1 - first)
        assert model == pytest.approx(expected, abs=1e-9)


def test_the_last_ones_weigh_more_where_old_ones_are_forgotten() -> None:
    means = [1.0, 0.0, 0.0, 4.0]  # iterates 1, 1, 1, 5
    assert models(ServerAveraging(last=2), means) == [1.0, 1.0, 1.0, 3.0]
    assert models(ServerAveraging(last=1), means) == models(ServerStep(), means)


def test_noise_of_many_rounds_averages_out() -> None:
    torch.manual_seed(0)
    # Around 5, where nothing moves the model but noise that the next round takes back.
    noise = torch.randn(400, dtype=torch.float64).tolist()
    means = [5.0 + noise[0], *(b - a for a, b in itertools.pairwise(noise))]
    plain, mean = models(ServerStep(), means), models(ServerAveraging(), means)
    assert abs(mean[-1] - 5) < 0.2 < max(abs(x - 5) for x in plain[-10:])


@pytest.mark.parametrize("settings", [{"first": -1}, {"first": 0.5}, {"last": 0}, {"learning_rate": 0.0}])
def test_impossible_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises((InvalidType, InvalidValue), match=str(next(iter(settings.values())))):
        ServerAveraging(**settings)
