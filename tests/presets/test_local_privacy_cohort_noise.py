"""Presets that count on the noise of a whole cohort: insdp_fedsgd and dopamine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from dp_accounting import GaussianDpEvent, NonPrivateDpEvent, PoissonSampledDpEvent

from fedward.base.validate import InvalidValue
from fedward.clipping import NoClipping, RawMedian
from fedward.presets import dopamine, insdp_fedsgd
from fedward.presets.local_privacy import papers_claim
from fedward.sampling import PoissonSampler
from presets.self_protecting import FIGURE_12, HISTOGRAM, QUANTILE, dp_sgd


def test_insdp_fedsgd_states_the_conservative_bound_and_the_papers_claim() -> None:
    algorithm = insdp_fedsgd(**FIGURE_12)
    assert algorithm.round_event(30, 7) == PoissonSampledDpEvent(0.4, GaussianDpEvent(3.0 * 20**0.5))
    found = algorithm.guarantee(30, 200, 1e-5, "moments")
    assert f"{found.epsilon:.4f}" == "2.1303"
    assert "noise of the whole cohort, m = 20" in found.sampling
    claim = papers_claim(algorithm, 30, 200, 1e-5)
    assert claim is not None
    assert f"{claim.epsilon:.4f}" == "1.4029"
    assert "probability p q, q = 0.666667" in claim.sampling
    assert (claim.rounds, claim.accountant, claim.unit) == (200, "moments", "example")
    assert papers_claim(algorithm, 30, 0, 1e-5) is None


def test_dopamine_has_the_conservative_bound_and_no_other() -> None:
    algorithm = dopamine(**FIGURE_12)
    assert f"{algorithm.guarantee(30, 200, 1e-5, 'moments').epsilon:.4f}" == "2.1303"
    assert papers_claim(algorithm, 30, 200, 1e-5) is None
    # The event is a Poisson-sampled Gaussian for examples: no accountant has to refuse it.
    assert (
        algorithm.guarantee(30, 200, 1e-5, "pld").epsilon < algorithm.guarantee(30, 200, 1e-5, "rdp").epsilon
    )


@pytest.mark.parametrize("preset", [insdp_fedsgd, dopamine])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"local": dp_sgd(steps=2)}, "one local step a round"),
        ({"sampler": PoissonSampler(rate=0.5)}, "cohorts of a known size .* got Poisson sampling q = 0.5"),
        ({"local": dp_sgd(steps=1, clip_bound=None)}, "give either a clip bound or a clip policy"),
    ],
)
def test_noise_of_a_cohort_is_refused_where_it_does_not_add_up(
    preset: Any, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        preset(**(FIGURE_12 | changes))


@pytest.mark.parametrize("policy", [QUANTILE, HISTOGRAM], ids=repr)
def test_noise_of_a_cohort_is_refused_with_looks(policy: Any) -> None:
    """No preset lets a policy in: whoever composes by hand is refused as well."""
    with pytest.raises(InvalidValue, match="a clip bound without looks"):
        replace(insdp_fedsgd(**FIGURE_12), policy=policy)


@pytest.mark.parametrize("policy", [RawMedian(), NoClipping()], ids=repr)
@pytest.mark.parametrize("accounting", ["users", "aggregate"])
def test_a_policy_without_a_proof_is_refused_whoever_protects(policy: Any, accounting: Any) -> None:
    with pytest.raises(InvalidValue, match="need a clip policy with a proof"):
        replace(insdp_fedsgd(**FIGURE_12), accounting=accounting, policy=policy)


def test_a_void_training_of_a_cohort_has_no_guarantee_and_no_claim() -> None:
    algorithm = replace(insdp_fedsgd(**FIGURE_12), void="attackers keep their noise")
    assert algorithm.round_event(30, 0) == NonPrivateDpEvent()
    found = algorithm.guarantee(30, 5, 1e-5, "moments")
    assert str(found) == "no guarantee: attackers keep their noise"
    assert papers_claim(algorithm, 30, 5, 1e-5) is None
