from __future__ import annotations

import numpy as np
import pytest

from fedward.base.validate import InvalidValue
from fedward.certificates.confidence import betting_votes, clopper_pearson
from fedward.certificates.confidence.betting_votes import betting_votes_of

ERROR = 0.1
TRIALS = 400


@pytest.mark.parametrize("p", [0.05, 0.5, 0.9, 0.99])
def test_it_is_ever_wrong_no_more_often_than_it_says(p: float) -> None:
    """Whoever looks after every vote, and stops at the worst moment, is wrong in at most so many trials."""
    votes = np.random.default_rng(1).random((TRIALS, 600)) < p
    counts = votes.cumsum(axis=1)
    ever = np.zeros(TRIALS, dtype=bool)
    at_the_end = np.zeros(TRIALS, dtype=bool)
    for t in range(1, 601):
        wrong = betting_votes_of(counts[:, t - 1], t, ERROR, "lower") > p
        ever |= wrong
        at_the_end = wrong
    assert ever.mean() <= ERROR + 3 * np.sqrt(ERROR * (1 - ERROR) / TRIALS)
    assert at_the_end.mean() <= ever.mean()


def test_the_bound_for_one_number_of_replicas_is_wrong_more_often_when_it_is_looked_at_all_the_time() -> None:
    """So the trials above would notice a bound that holds only once."""
    votes = np.random.default_rng(1).random((TRIALS, 200)) < 0.9
    ever = np.zeros(TRIALS, dtype=bool)
    for t in range(1, 201):
        ever |= clopper_pearson(votes[:, :t].T.astype(float), ERROR, "lower") > 0.9
    assert ever.mean() > 2 * ERROR


def test_it_is_a_little_wider_than_the_bound_for_one_number_of_replicas() -> None:
    values = (np.arange(1000)[:, None] < np.array([0, 500, 900, 1000])).astype(float)
    any_time, once = (bound(values, 0.01, "lower") for bound in (betting_votes, clopper_pearson))
    assert (any_time <= once).all()
    assert (once - any_time < 0.03).all()
    assert any_time[0] == 0.0


def test_upper_and_lower_bounds_mirror_each_other_and_rise_with_the_votes() -> None:
    counts = np.arange(101)
    lower, upper = (betting_votes_of(counts, 100, 0.01, side) for side in ("lower", "upper"))
    assert np.allclose(upper, 1.0 - lower[::-1])
    assert (np.diff(lower) >= 0).all()
    assert (lower <= counts / 100).all()
    assert (upper >= counts / 100).all()


def test_the_capital_at_the_bound_is_what_refutes_a_mean() -> None:
    """Against the definition, term by term: the product of what each bet pays."""
    bound, heads, tails = float(betting_votes_of(30, 40, 0.05, "lower")), 0, 0
    capital = 1.0
    for vote in [1] * 30 + [0] * 10:
        chance = (heads + 0.5) / (heads + tails + 1.0)
        capital *= chance / bound if vote else (1 - chance) / (1 - bound)
        heads, tails = heads + vote, tails + 1 - vote
    assert capital == pytest.approx(1 / 0.05, rel=1e-6)


def test_confidences_between_0_and_1_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"votes must be 0 or 1 to bet on them, got 0\.5"):
        betting_votes([0.5], 0.01, "lower")
