from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from fedward.auditing.look_law import LookLaw, shown_log_ratio
from fedward.auditing.round_law import RoundLaw
from fedward.base.validate import InvalidValue
from fedward.clipping import ClipNormDecay, FixedBound, Quantile
from fedward.core.types import Bounds

QUANTILE = Quantile(initial=1.0, quantile=0.5, bit_noise=1.5, expected_cohort=4.0)
DECAY = ClipNormDecay(initial=1.0, decay=0.9, look_noise=2.0, expected_cohort=4.0)


@pytest.mark.parametrize("norms", [[], [0.0], [10.0, 0.0, 0.0]])
def test_the_next_bound_of_a_quantile_shows_the_noisy_look(norms: list[float]) -> None:
    rows: list[Bounds] = [(each,) for each in norms]
    (after,) = QUANTILE.move((1.0,), 0, (1.0,), rows, np.random.default_rng(0))
    noisy = QUANTILE.look(1.0, rows) + 1.5 * float(np.random.default_rng(0).standard_normal())
    assert QUANTILE.shown_look(1.0, after) == pytest.approx((noisy, noisy))


def test_a_bound_at_its_limit_shows_no_more_than_that() -> None:
    assert QUANTILE.shown_look(1e-9, 1e-10)[1] == math.inf
    assert QUANTILE.shown_look(1e9, 1e10)[0] == -math.inf


@pytest.mark.parametrize("seed", range(8))
def test_a_decaying_bound_shows_where_the_noisy_look_lay(seed: int) -> None:
    rows: list[Bounds] = [(0.9,), (0.6,)]
    (after,) = DECAY.move((1.0,), 0, (1.0,), rows, np.random.default_rng(seed))
    noisy = DECAY.look(1.0, rows) + 0.5 * float(np.random.default_rng(seed).standard_normal())
    low, high = DECAY.shown_look(1.0, after)
    assert low <= noisy <= high
    assert (low == high) == (0.01 < noisy < 0.9)


def test_a_look_alone_is_a_gaussian() -> None:
    law = LookLaw(noise=2.0, others=5, rate=0.5, silent=0.0)
    assert law.log_ratio(1.7, 1.7) == pytest.approx(norm.logpdf(1.7, 1, 2) - norm.logpdf(1.7, 0, 2))
    wanted = norm.logsf(3.0, 1, 2) - norm.logsf(3.0, 0, 2)
    assert law.log_ratio(3.0, math.inf) == pytest.approx(wanted)
    assert law.log_ratio(-math.inf, math.inf) == pytest.approx(0.0)


def test_others_that_are_drawn_or_not_blur_a_look() -> None:
    law, rng = LookLaw(noise=0.5, others=3, rate=0.3, silent=-1.0), np.random.default_rng(0)
    drawn = rng.binomial(3, 0.3, 400_000)
    seen = 0.5 * rng.standard_normal(400_000) - drawn
    near = [float((np.abs(seen + canary - 0.4) < 0.05).mean()) for canary in (1.0, 0.0)]
    assert law.log_ratio(0.4, 0.4) == pytest.approx(math.log(near[0] / near[1]), abs=0.05)


def test_what_a_bound_shows_of_the_canary_is_a_likelihood_ratio() -> None:
    (after,) = QUANTILE.move((1.0,), 0, (1.0,), [(10.0,)], np.random.default_rng(1))
    noisy, _ = QUANTILE.shown_look(1.0, after)
    wanted = norm.logpdf(noisy, -0.5, 1.5) - norm.logpdf(noisy, 0.0, 1.5)
    assert shown_log_ratio(QUANTILE, 3.0, 0, 1.0, 1.0, after) == pytest.approx(wanted)


def test_a_policy_that_shows_nothing_says_nothing() -> None:
    assert shown_log_ratio(FixedBound(clip_bound=1.0), 3.0, 7, 0.5, 1.0, 1.0) == 0.0


def test_model_and_look_together_are_one_gaussian() -> None:
    both = RoundLaw(rate=0.5, times=1, std=2.0, look=2.0)
    folded = RoundLaw(rate=0.5, times=1, std=2.0 / math.sqrt(2.0))
    rng = np.random.default_rng(0)
    for inside in (True, False):
        ours, theirs = (law.draw_log_ratio(inside, 50_000, rng) for law in (both, folded))
        assert ours.mean() == pytest.approx(theirs.mean(), abs=0.02)
        assert ours.std() == pytest.approx(theirs.std(), abs=0.02)


def test_a_look_beside_several_draws_has_no_law() -> None:
    with pytest.raises(InvalidValue, match="one draw"):
        RoundLaw(rate=0.5, times=2, std=1.0, look=1.0)
