from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dp_accounting import (
    ComposedDpEvent,
    GaussianDpEvent,
    NoOpDpEvent,
    PoissonSampledDpEvent,
    SampledWithoutReplacementDpEvent,
    SelfComposedDpEvent,
)
from scipy.stats import binom, norm

from fedward.auditing.round_law import RoundLaw

X = np.linspace(-6.0, 8.0, 29)


@pytest.mark.parametrize(("rate", "times", "inside", "outside"), [(0.3, 1, 1.0, 0.0), (0.5, 4, 1.0, -1.0)])
def test_the_ratio_is_that_of_the_densities(rate: float, times: int, inside: float, outside: float) -> None:
    law = RoundLaw(rate=rate, times=times, std=1.3, inside=inside, outside=outside)

    def density(shift: float) -> Any:
        drawn = np.arange(times + 1)
        return norm.pdf(X[:, None] - drawn * shift, scale=1.3) @ binom.pmf(drawn, times, rate)

    np.testing.assert_allclose(law.log_ratio(X), np.log(density(inside) / density(outside)), atol=1e-9)


def test_events_say_how_noisy_a_round_is() -> None:
    step = PoissonSampledDpEvent(0.4, GaussianDpEvent(3.0))
    assert RoundLaw.of(step) == RoundLaw(rate=0.4, times=1, std=3.0)
    assert RoundLaw.of(SelfComposedDpEvent(step, 4)) == RoundLaw(rate=0.4, times=4, std=6.0)
    fixed = SampledWithoutReplacementDpEvent(8, 2, GaussianDpEvent(3.0))
    assert RoundLaw.of(fixed, apart=2.0) == RoundLaw(rate=0.25, times=1, std=6.0, outside=-1.0)
    look = PoissonSampledDpEvent(0.4, ComposedDpEvent([GaussianDpEvent(2.0), GaussianDpEvent(9.0)]))
    assert RoundLaw.of(look) == RoundLaw(rate=0.4, times=1, std=2.0)
    assert RoundLaw.of(NoOpDpEvent()) is None


def test_draws_have_the_law() -> None:
    law, rng = RoundLaw(rate=0.5, times=2, std=1.0), np.random.default_rng(0)
    assert law.draw(True, 40_000, rng).mean() == pytest.approx(1.0, abs=0.03)
    assert law.draw(False, 40_000, rng).mean() == pytest.approx(0.0, abs=0.03)
    assert law.repeated(3) == RoundLaw(rate=0.5, times=6, std=3**0.5)
