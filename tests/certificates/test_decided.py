from __future__ import annotations

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent

from fedward.base.validate import InvalidValue
from fedward.certificates.certificate import certify
from fedward.certificates.confidence import Confidence
from fedward.certificates.decided import decided
from fedward.certificates.setting import Setting
from fedward.certificates.tally import Tally
from fedward.privacy.ledger import Ledger

LEDGER = Ledger(unit="user", adjacency="add/remove", noise_source="seeded").charged(GaussianDpEvent(5.0), 1)


def setting(replicas: int, method: str = "betting_votes") -> Setting:
    return Setting(
        ledger=LEDGER,
        users=50,
        confidence=Confidence(looks=(replicas,), method=method),
        delta=1e-3,
        initial_model="c0ffee",
        data="f00d",
        threats=("inject",),
    )


def tally(replicas: int, shares: list[float]) -> Tally:
    counts = np.array([[round(share * replicas), replicas - round(share * replicas)] for share in shares])
    return Tally(counts=counts, replicas=replicas, seed=1, labels=np.zeros(len(shares), dtype=np.int64))


def test_clear_examples_are_decided_early_and_narrow_ones_late() -> None:
    """Against 5 with σ = 5 a share of Φ(1) = 0.841 is just enough."""
    shares = [0.999, 0.5, 0.85]
    assert decided(setting(400), tally(400, shares), [5]).tolist() == [True, True, False]
    assert decided(setting(200_000), tally(200_000, shares), [5]).tolist() == [True, True, True]
    assert decided(setting(20), tally(20, shares), [5]).tolist() == [False, False, False]


def test_what_is_decided_does_not_change_with_more_of_the_same() -> None:
    shares = [0.999, 0.9, 0.85, 0.7, 0.5]
    early, late = tally(1000, shares), tally(100_000, shares)
    there = decided(setting(1000), early, [5])
    before, after = (certify(setting(len(each)), each).attacks[0].k >= 5 for each in (early, late))
    assert there.any()
    assert (before[there] == after[there]).all()


def test_each_k_has_to_be_decided() -> None:
    both = decided(setting(400), tally(400, [0.9]), [1, 6])
    assert bool(decided(setting(400), tally(400, [0.9]), [1])[0])
    assert not bool(both[0])


def test_a_bound_that_holds_only_once_is_refused() -> None:
    with pytest.raises(InvalidValue, match="method must be betting_votes to stop"):
        decided(setting(10, "clopper_pearson"), tally(10, [1.0]), [1])
