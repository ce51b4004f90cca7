from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent, PoissonSampledDpEvent

from fedward.privacy import Guarantee, Ledger
from fedward.privacy.remembered import guarantee_of, guarantees_of
from fedward.privacy.user_ledgers import UserLedgers


def ledger(noise: float, **changes: Any) -> Ledger:
    """With a look in it: such events have no hash."""
    about = {"unit": "user", "adjacency": "add/remove", "noise_source": "seeded"}
    look = ComposedDpEvent([GaussianDpEvent(noise), GaussianDpEvent(3.5)])
    return Ledger(**(about | changes)).charged(PoissonSampledDpEvent(0.2, look), 7)


@pytest.fixture
def accounted(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    real, counted = Ledger.guarantee, []

    def counting(self: Ledger, delta: float, accountant: str) -> Guarantee:
        counted.append(delta)
        return real(self, delta, accountant)

    monkeypatch.setattr(Ledger, "guarantee", counting)
    return counted


def test_equal_ledgers_are_accounted_once_and_others_each(accounted: list[float]) -> None:
    first = guarantee_of(ledger(4.125), 1e-5, "rdp")
    assert guarantee_of(ledger(4.125), 1e-5, "rdp") is first
    assert len(accounted) == 1
    others = [
        guarantee_of(ledger(4.25), 1e-5, "rdp"),
        guarantee_of(ledger(4.125), 1e-6, "rdp"),
        guarantee_of(ledger(4.125), 1e-5, "moments"),
        # The same spending, and another guarantee.
        guarantee_of(ledger(4.125, noise_source="system"), 1e-5, "rdp"),
    ]
    assert len(accounted) == 5
    assert first not in others
    assert others[-1].noise_source == "system"


def test_the_ledgers_of_users_are_accounted_once(accounted: list[float]) -> None:
    def users(cohort: list[int]) -> UserLedgers:
        new = UserLedgers.new(4, unit="user", adjacency="local")
        return new.reserve(0, np.array(cohort), GaussianDpEvent(10.125)).settle(0)

    first = guarantees_of(users([0, 2]), 1e-5, "rdp")
    assert guarantees_of(users([0, 2]), 1e-5, "rdp") is first
    assert len(accounted) == 2  # one history each of those who were drawn and who were not
    guarantees_of(users([0, 1]), 1e-5, "rdp")
    assert len(accounted) == 4
