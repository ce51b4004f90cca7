"""What is accounted, and how often: computations are counted, in one process and over several."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from fedward.privacy import Ledger, noise_for, pld
from fedward.privacy.pld import Epochs, Rounds

Computed = list[tuple[Rounds, Epochs, float, float]]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Computed:
    """Every composition of privacy loss distributions from now on."""
    real: Callable[[Rounds, Epochs, float, float], float] = pld._compute
    found: Computed = []

    def counting(rounds: Rounds, epochs: Epochs, delta: float, grid: float) -> float:
        found.append((rounds, epochs, delta, grid))
        return real(rounds, epochs, delta, grid)

    monkeypatch.setattr(pld, "_compute", counting)
    pld._remembered.cache_clear()
    return found


def end_process() -> None:
    """Forgets what a process forgets when it ends."""
    pld._remembered.cache_clear()


def ledger(rounds: int) -> Ledger:
    event = PoissonSampledDpEvent(0.125, GaussianDpEvent(2.25))
    return Ledger(unit="user", adjacency="add/remove", noise_source="seeded").charged(event, rounds)


def test_one_spending_is_accounted_once_by_all_processes(computed: Computed) -> None:
    first = ledger(7).guarantee(1e-5, "pld").epsilon
    assert ledger(7).guarantee(1e-5, "pld").epsilon == first
    end_process()
    assert ledger(7).guarantee(1e-5, "pld").epsilon == first
    assert len(computed) == 1
    assert ledger(8).guarantee(1e-5, "pld").epsilon > first
    assert ledger(7).guarantee(1e-6, "pld").epsilon > first
    assert len(computed) == 3


def test_a_second_search_computes_no_epsilon_that_is_told(computed: Computed) -> None:
    def search() -> float:
        event = lambda z: PoissonSampledDpEvent(0.125, GaussianDpEvent(z))  # noqa: E731
        return noise_for(1.5, 1e-5, event, 11, "pld", "add/remove")

    found = search()
    fine = [each for each in computed if each[-1] == 1e-4]
    assert 2 <= len(fine) <= 6
    computed.clear()
    end_process()
    assert search() == found
    assert not [each for each in computed if each[-1] == 1e-4]
