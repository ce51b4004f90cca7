from __future__ import annotations

import json
import math

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SampledWithoutReplacementDpEvent
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from fedward.attacks.inference.limit import Limit, two_sided
from fedward.attacks.inference.roc import Roc
from fedward.base.validate import InvalidValue
from fedward.certificates.transport import transport
from fedward.privacy.accountants import epsilon_of
from fedward.privacy.group import group_curve

RATES = np.array([0.0, 1e-4, 0.001, 0.01, 0.1, 0.3, 0.5, 0.9, 0.999, 1.0])


@pytest.mark.parametrize("z", [0.5, 1.0, 4.0])
def test_a_gaussian_has_the_curve_that_is_known_in_closed_form(z: float) -> None:
    limit = Limit.of_curve([(GaussianDpEvent(z), 1)], "one Gaussian")
    wanted = norm.cdf(norm.ppf(RATES) + 1 / z)
    np.testing.assert_allclose(limit.most(RATES), wanted, atol=2e-4)
    assert (limit.most(RATES) >= wanted - 1e-12).all()
    assert limit.auc == pytest.approx(norm.cdf(1 / z / math.sqrt(2)), abs=1e-3)
    assert limit.auc >= norm.cdf(1 / z / math.sqrt(2))


def test_other_data_of_a_user_is_one_user_less_and_one_more() -> None:
    limit = Limit.of_curve([(GaussianDpEvent(2.0), 1)], "", twice=True)
    # A Gaussian moved by 1/z twice is one moved by 2/z.
    np.testing.assert_allclose(limit.most(RATES), norm.cdf(norm.ppf(RATES) + 1.0), atol=2e-4)


@pytest.mark.parametrize(("twice", "threat"), [(False, "inject"), (True, "compromise")])
def test_it_is_what_certificates_transport(twice: bool, threat: str) -> None:
    spending = [(PoissonSampledDpEvent(0.2, GaussianDpEvent(1.0)), 30), (GaussianDpEvent(5.0), 2)]
    limit = Limit.of_curve(spending, "", twice=twice)
    wanted = transport(RATES, group_curve(spending, 1), threat, "upper")  # type: ignore[arg-type]
    np.testing.assert_allclose(limit.most(RATES), wanted, atol=1e-6)


def test_one_epsilon_and_delta_by_hand() -> None:
    limit = two_sided(math.log(4.0), 0.01, "")
    # 4 * 0.1 + 0.01, and 1 - (1 - 0.5 - 0.01) / 4.
    assert limit.most([0.1, 0.5]).tolist() == pytest.approx([0.41, 0.8775])


def test_the_accountants_bound_is_that_of_its_epsilons() -> None:
    spending = [(SampledWithoutReplacementDpEvent(200, 20, GaussianDpEvent(2.0)), 10)]
    limit = Limit.of_accountant(spending, "replace-one", "")
    for delta in (1e-6, 1e-3):
        epsilon = epsilon_of(spending, delta, "rdp", "replace-one")
        single = two_sided(epsilon, delta, "")
        assert (limit.most(RATES) <= single.most(RATES) + 0.01).all()
    assert float(limit.most(0.01)) < 0.05
    assert (limit.most(RATES) >= RATES).all()


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 0.5)), min_size=1, max_size=4),
    st.lists(st.floats(0, 1), min_size=2, max_size=8),
    st.booleans(),
)
def test_more_false_alarms_never_allow_less_and_guessing_is_always_allowed(
    lines: list[tuple[float, float]], rates: list[float], twice: bool
) -> None:
    epsilon, delta = (np.array(each) for each in zip(*lines, strict=True))
    limit = Limit(about="", epsilon=epsilon, forward=delta, backward=delta, twice=twice)
    fpr = np.sort(rates)
    most = limit.most(fpr)
    assert (np.diff(most) >= -1e-12).all()
    assert (most >= fpr - 1e-12).all()
    assert (most <= 1).all()


def test_without_a_promise_everything_is_allowed() -> None:
    limit = Limit.none("no guarantee: no noise is added")
    assert limit.most([0.0, 0.5]).tolist() == [1.0, 1.0]
    assert not limit.promised
    assert limit.to_json() == {"about": "no guarantee: no noise is added", "tpr_at_fpr": None, "auc": None}
    assert limit.crossed(Roc.of(np.arange(400.0), np.arange(400) >= 200)) == ()


def best_possible(z: float, count: int) -> Roc:
    """The best attack there is on one Gaussian release: it looks at the release itself."""
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(1 / z, 1.0, count), rng.normal(0.0, 1.0, count)])
    return Roc.of(scores, np.arange(2 * count) < count)


def test_the_best_possible_attack_reaches_the_limit_and_does_not_cross_it() -> None:
    limit = Limit.of_curve([(GaussianDpEvent(0.5), 1)], "")
    found = best_possible(0.5, 20_000)
    assert limit.crossed(found) == ()
    for point in found.points:
        assert point.tpr.high > limit.most(point.fpr.low)
    assert found.auc.high > limit.auc - 1e-3


def test_a_guarantee_that_claims_too_much_is_found_out() -> None:
    claimed = Limit.of_curve([(GaussianDpEvent(0.6), 1)], "")
    crossed = claimed.crossed(best_possible(0.5, 20_000))
    assert {"AUC", "TPR at 0.01 FPR", "TPR at 0.1 FPR"} <= set(crossed)


def test_it_is_written_at_the_usual_rates() -> None:
    content = json.loads(json.dumps(two_sided(1.0, 1e-5, "by hand").to_json()))
    assert content["tpr_at_fpr"]["0.01"] == pytest.approx(math.e * 0.01 + 1e-5)
    assert content["about"] == "by hand"


def test_what_is_no_rate_or_no_epsilon_is_refused() -> None:
    with pytest.raises(InvalidValue, match="from 0 to 1"):
        two_sided(1.0, 1e-5, "").most([1.1])
    with pytest.raises(InvalidValue, match="epsilon must be at least 0 and finite, got inf"):
        two_sided(math.inf, 1e-5, "")
    with pytest.raises(InvalidValue, match="two values of δ for each ε"):
        Limit(about="", epsilon=np.zeros(2), forward=np.zeros(1), backward=np.zeros(2))
