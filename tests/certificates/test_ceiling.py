"""No certificate exceeds the ceiling of its number of replicas, and unanimous replicas reach it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from hypothesis import given, settings
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.certificates.beside_headline import ceiling_in_words
from fedward.certificates.ceiling import (
    best_lower,
    ceiling_k,
    ceilings,
    least_whole,
    needed_lower,
    replicas_for,
    round_up_count,
)
from fedward.certificates.certificate import certify
from fedward.certificates.confidence import METHODS, OF_COUNTS, Confidence
from fedward.certificates.prediction import certified_k
from fedward.certificates.replica_scores import Replicas
from fedward.certificates.setting import Setting
from fedward.privacy.ledger import Ledger

EXACT = ("clopper_pearson", "betting_votes", "hoeffding", "empirical_bernstein")
ROUNDS = [(PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), 3)]


def setting(replicas: int, method: str = "clopper_pearson", **changes: Any) -> Setting:
    ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded").charged(*ROUNDS[0])
    given: dict[str, Any] = {
        "ledger": ledger,
        "users": 200,
        "confidence": Confidence(looks=(replicas,), method=method),
        "delta": 0.003,
        "initial_model": "c0ffee",
        "data": "f00d",
    }
    return Setting(**(given | changes))


@settings(deadline=None, max_examples=60)
@given(
    method=st.sampled_from(sorted(METHODS)),
    replicas=st.integers(2, 300),
    error=st.floats(1e-6, 0.2),
    shape=st.sampled_from(["ones", "nearly", "late", "mixed", "votes"]),
    seed=st.integers(0, 2**16),
)
def test_no_values_have_a_larger_lower_bound(
    method: str, replicas: int, error: float, shape: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    values = {
        "ones": np.ones(replicas),
        "nearly": 1.0 - rng.uniform(0, 1e-3, replicas),
        # A few values near the start of the variance make later bets larger.
        "late": np.where(np.arange(replicas) < 3, 0.5 + 0.5 * rng.uniform(size=replicas), 1.0),
        "mixed": rng.beta(20, 1, replicas),
        "votes": (rng.uniform(size=replicas) < 0.97).astype(float),
    }[shape]
    if method in OF_COUNTS:
        values = values.round()
    best, bound = best_lower(method, replicas, error), METHODS[method]
    assert float(bound(values, error, "lower")) <= best + 1e-12
    assert float(bound(1 - values, error, "upper")) >= 1 - best - 1e-12


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize("replicas", [2, 30, 1000])
def test_replicas_that_agree_reach_the_largest_lower_bound(method: str, replicas: int) -> None:
    reached = float(METHODS[method](np.ones(replicas), 0.001, "lower"))
    assert reached == pytest.approx(best_lower(method, replicas, 0.001), abs=1e-9)


@pytest.mark.parametrize("method", ["betting", "betting_sequence"])
@pytest.mark.parametrize("replicas", [30, 1000])
def test_betting_comes_close_to_it(method: str, replicas: int) -> None:
    reached = float(METHODS[method](np.ones(replicas), 0.001, "lower"))
    best = best_lower(method, replicas, 0.001)
    assert 1 - best < 1 - reached <= 1.15 * (1 - best)


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_no_certificate_exceeds_the_ceiling_and_agreement_reaches_it(method: str, classes: int) -> None:
    rng, replicas = np.random.default_rng(1), 60
    votes = np.zeros((replicas, 40, classes), dtype=np.uint8)
    # Example 0 is unanimous, the others ever less so.
    for example in range(40):
        chosen = np.where(rng.uniform(size=replicas) < example / 80, 1, 0)
        votes[np.arange(replicas), example, chosen] = 1
    where = setting(replicas, method)
    found = certify(where, Replicas(scores=votes, numbers=np.arange(replicas), seed=1, score="vote"))
    for attack, ceiling in zip(found.attacks, ceilings(where, classes=classes, examples=40), strict=True):
        assert attack.threat == ceiling.threat
        assert attack.k.max() <= ceiling.k
        if method in EXACT:
            assert attack.k[0] == ceiling.k
    assert method == "hoeffding" or found.attacks[0].k[0] > 0


@pytest.mark.parametrize("threat", ["inject", "present", "compromise"])
def test_what_is_needed_for_k_is_certified_for_k_and_what_is_less_is_not(threat: Any) -> None:
    needed = needed_lower(ROUNDS, 4, threat)
    assert needed is not None
    above, below = needed + 1e-6, needed - 1e-4
    assert certified_k([above], [1 - above], ROUNDS, threat)[0] >= 4
    assert certified_k([below], [1 - below], ROUNDS, threat)[0] < 4


def test_so_many_replicas_allow_k_and_one_less_does_not() -> None:
    rule = Confidence(looks=(1,), method="clopper_pearson")
    least = replicas_for(12, ROUNDS, "inject", rule, classes=10, examples=50)
    assert least is not None
    reached = [
        ceiling_k(
            ROUNDS, "inject", Confidence(looks=(replicas,), method="clopper_pearson"), classes=10, examples=50
        )
        for replicas in (least - 1, least)
    ]
    assert reached[0] < 12 <= reached[1]


def test_more_replicas_are_named_with_the_k_that_they_allow() -> None:
    (few,) = ceilings(setting(20, threats=("inject",)), classes=10, examples=50)
    assert few.more is not None
    replicas, k = few.more
    (many,) = ceilings(setting(replicas, threats=("inject",)), classes=10, examples=50)
    assert many.k == k > few.k
    assert replicas == round_up_count(replicas)


def test_three_replicas_certify_nothing_and_the_sentence_says_so() -> None:
    where = setting(3)
    found = ceilings(where, classes=10, examples=50)
    assert [each.k for each in found] == [-1, -1, -1]
    told = ceiling_in_words(found)
    assert told.startswith("With M = 3 trainings nothing at all can be certified, however good the model is")
    assert all(f"M = {each.more[0]:,} allows" in told for each in found if each.more)


def test_where_noise_sets_the_limit_more_replicas_are_not_advised() -> None:
    ledger = Ledger(unit="user", adjacency="add/remove", noise_source="seeded")
    loud = setting(1000, ledger=ledger.charged(GaussianDpEvent(0.02), 1), threats=("inject",))
    (found,) = ceilings(loud, classes=10, examples=50)
    assert (found.k, found.more) == (0, None)
    assert "more trainings do not help" in ceiling_in_words((found,))


def test_numbers_are_searched_from_one_on() -> None:
    found = [least_whole(at.__le__, 1000) for at in (1, 2, 999, 1000, 1001)]
    assert found == [1, 2, 999, 1000, None]
    with pytest.raises(InvalidValue, match="most must be at least 1"):
        least_whole(lambda n: True, 0)
