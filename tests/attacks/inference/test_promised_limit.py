from __future__ import annotations

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from scipy.stats import norm

from fedward.attacks.inference.limit import Limit
from fedward.attacks.inference.promised_limit import membership_limit, property_limit
from fedward.base.validate import InvalidValue
from fedward.clipping import Quantile
from fedward.core.algorithm import Algorithm
from fedward.presets import clip_norm_decay, fedavg, insdp_fedavg, ldp_fedsgd, local_dp, user_dp_fedavg
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from part_examples import PRESET_EXAMPLES, TINY_DP_SGD
from support import tiny_algorithm, tiny_sgd

RATES = np.array([0.001, 0.01, 0.1, 0.5])


def user_dp(sampler: object, z: float = 1.0) -> Algorithm:
    return user_dp_fedavg(
        num_users=12,
        sampler=sampler,  # type: ignore[arg-type]
        local=tiny_sgd(),
        clip_bound=0.7,
        noise_multiplier=z,
    )


def test_a_user_is_hidden_by_all_rounds_together() -> None:
    limit = membership_limit(tiny_algorithm(), "user", 12, 5)
    wanted = Limit.of_curve([(PoissonSampledDpEvent(0.5, GaussianDpEvent(1.0)), 5)], "")
    np.testing.assert_array_equal(limit.most(RATES), wanted.most(RATES))
    assert limit.about == (
        "user level, add/remove, Poisson sampling q = 0.5, 5 rounds, by the whole trade-off curve"
    )


def test_an_example_of_a_user_is_hidden_less_than_the_user() -> None:
    algorithm = user_dp(EveryoneSampler(), z=2.0)
    user, example = (membership_limit(algorithm, unit, 12, 1).most(RATES) for unit in ("user", "example"))
    np.testing.assert_allclose(user, norm.cdf(norm.ppf(RATES) + 0.5), atol=2e-4)
    np.testing.assert_allclose(example, norm.cdf(norm.ppf(RATES) + 1.0), atol=2e-4)


def test_where_users_are_replaced_both_are_hidden_alike() -> None:
    algorithm = user_dp(EveryoneSampler(adjacency="replace-one"), z=2.0)
    for unit in ("user", "example"):
        found = membership_limit(algorithm, unit, 12, 1).most(RATES)
        np.testing.assert_allclose(found, norm.cdf(norm.ppf(RATES) + 1.0), atol=2e-4)


def test_fixed_size_cohorts_are_accounted_for_by_rdp() -> None:
    few, many = (membership_limit(user_dp(FixedSizeSampler(size=4), 4.0), "user", n, 2) for n in (8, 80))
    assert "replace-one" in few.about
    assert "rdp accountant" in few.about
    assert (few.most(RATES) > many.most(RATES)).all()  # who is drawn rarely is hidden better


def test_a_users_own_noise_hides_examples_and_not_whether_it_takes_part() -> None:
    algorithm = PRESET_EXAMPLES["insdp_fedavg"]
    hidden = membership_limit(algorithm, "example", 12, 3)
    step = PoissonSampledDpEvent(TINY_DP_SGD.probability, GaussianDpEvent(TINY_DP_SGD.noise_multiplier))
    np.testing.assert_allclose(hidden.most(RATES), Limit.of_curve([(step, 3)], "").most(RATES))
    nothing = membership_limit(algorithm, "user", 12, 3)
    assert not nothing.promised
    assert nothing.about == (
        "no limit: the noise hides one example of a user, not whether the user takes part"
    )


def test_the_noise_of_a_whole_cohort_hides_an_example_better() -> None:
    alone = membership_limit(PRESET_EXAMPLES["insdp_fedavg"], "example", 12, 3)
    together = membership_limit(PRESET_EXAMPLES["dopamine"], "example", 12, 3)
    assert together.promised
    assert (together.most(RATES) < alone.most(RATES)).all()


def test_local_noise_hides_the_data_and_not_who_sends_it() -> None:
    algorithm = ldp_fedsgd(
        num_users=12, sampler=PoissonSampler(rate=0.5), noise_multiplier=4.0, clip_bound=0.5
    )
    example = membership_limit(algorithm, "example", 12, 1)
    np.testing.assert_allclose(example.most(RATES), norm.cdf(norm.ppf(RATES) + 0.5), atol=2e-4)
    assert "what a user's data are" in membership_limit(algorithm, "user", 12, 1).about
    in_a_round = property_limit(algorithm, 12, 20)
    np.testing.assert_allclose(in_a_round.most(RATES), example.most(RATES))


def test_public_sizes_leave_no_limit() -> None:
    sizes = local_dp(sampler=PoissonSampler(rate=0.5), local=TINY_DP_SGD)
    assert membership_limit(sizes, "example", 12, 2).about == (
        "no limit: data sizes are public, and an example more or less shows there"
    )


def test_local_noise_and_looks_at_norms_limit_together() -> None:
    policy = Quantile(initial=0.5, quantile=0.5, bit_noise=4.0, expected_cohort=6)
    looking = ldp_fedsgd(num_users=12, sampler=PoissonSampler(rate=0.5), noise_multiplier=6.0, policy=policy)
    # Half of 6, and a bit that turns moves their sum by 1: together one Gaussian of 2.4.
    for limit in (membership_limit(looking, "example", 12, 1), property_limit(looking, 12, 20)):
        np.testing.assert_allclose(limit.most(RATES), norm.cdf(norm.ppf(RATES) + 1 / 2.4), atol=2e-4)
        assert "the server's looks at norms included, 1 round" in limit.about


def test_a_property_of_one_round_is_hidden_by_the_noise_of_that_round() -> None:
    algorithm = user_dp(EveryoneSampler(), z=2.0)
    found = property_limit(algorithm, 12, 300)
    np.testing.assert_allclose(found.most(RATES), norm.cdf(norm.ppf(RATES) + 1.0), atol=2e-4)
    assert "1 round," in found.about


def test_the_round_with_the_look_counts() -> None:
    algorithm = clip_norm_decay(
        num_users=12,
        sampler=EveryoneSampler(),
        local=tiny_sgd(),
        initial_bound=0.5,
        decay=0.9,
        noise_multiplier=3.0,
        look_noise=4.0,
    )
    assert algorithm.policy.looks(0)
    assert not algorithm.policy.looks(11)
    found = property_limit(algorithm, 12, 12)
    # Noise 3 and a look of 4 are one Gaussian of 2.4, and other data counts twice.
    np.testing.assert_allclose(found.most(RATES), norm.cdf(norm.ppf(RATES) + 2 / 2.4), atol=2e-4)


def test_an_examples_noise_does_not_hide_a_property_of_many() -> None:
    algorithm = insdp_fedavg(num_users=12, sampler=PoissonSampler(rate=0.5), local=TINY_DP_SGD)
    assert property_limit(algorithm, 12, 3).about == (
        "no limit: the noise hides one example of a user, and a property is one of many"
    )


def test_without_noise_there_is_no_limit_and_the_reason_is_said() -> None:
    algorithm = fedavg(sampler=EveryoneSampler(), local=tiny_sgd())
    for limit in (membership_limit(algorithm, "user", 12, 3), property_limit(algorithm, 12, 3)):
        assert limit.about == "no guarantee: no noise is added"
        assert limit.most(0.0) == 1.0


def test_what_is_asked_about_must_exist() -> None:
    with pytest.raises(InvalidValue, match="unit must be one of user, example, got 'round'"):
        membership_limit(tiny_algorithm(), "round", 12, 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="rounds must be at least 1, got 0"):
        membership_limit(tiny_algorithm(), "user", 12, 0)
