"""What can be a pilot, and the noise that is read off its ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dp_accounting import ComposedDpEvent, GaussianDpEvent, PoissonSampledDpEvent

import fedward
from api.five_rounds import TABLES
from fedward.base.validate import InvalidValue
from fedward.certificates.pilot import Noise
from fedward.forecast.pilot_run import noise_of, pilot_of_run
from fedward.privacy.ledger import Ledger
from fedward.privacy.terms import Terms

LOCAL = fedward.Compute(workers=0)


def ledger(*events: Any, divisor: float | None = 10.0) -> Ledger:
    terms = Terms(divisor=divisor, declared=divisor is not None)
    spent = Ledger(unit="user", adjacency="add/remove", noise_source="seeded", terms=terms)
    for event, count in events:
        spent = spent.charged(event, count)
    return spent


def test_noise_rate_rounds_and_users_are_read_off_a_ledger() -> None:
    drawn = PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0))
    assert noise_of(ledger((drawn, 7))) == Noise(noise_multiplier=3.0, sampling_rate=0.1, rounds=7, users=100)
    everyone = noise_of(ledger((GaussianDpEvent(2.0), 3), divisor=50.0))
    assert (everyone.sampling_rate, everyone.rounds, everyone.users) == (1.0, 3, 50)


@pytest.mark.parametrize(
    "spent",
    [
        ledger((PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), 2), (GaussianDpEvent(1.0), 1)),
        ledger((PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0)), 2), divisor=None),
        ledger(),
    ],
)
def test_other_spendings_are_refused(spent: Ledger) -> None:
    with pytest.raises(InvalidValue, match="same noise to the mean of clipped updates in every round"):
        noise_of(spent)


def test_looks_that_are_folded_into_the_noise_are_one_kind_of_round() -> None:
    both = PoissonSampledDpEvent(0.1, ComposedDpEvent([GaussianDpEvent(3.0), GaussianDpEvent(4.0)]))
    assert noise_of(ledger((both, 2))).noise_multiplier == pytest.approx((1 / 9 + 1 / 16) ** -0.5)


@pytest.mark.parametrize("save_space", [False, True])
def test_confidences_and_running_sums_are_both_pilots(tmp_path: Path, save_space: bool) -> None:
    fedward.replicas(
        TABLES, replicas=6, out=tmp_path / "run", save_space=save_space, compute=LOCAL, quiet=True
    )
    pilot = pilot_of_run(tmp_path / "run")
    assert pilot.noise == Noise(noise_multiplier=2.0, sampling_rate=0.1, rounds=5, users=100)
    assert (pilot.replicas, pilot.classes, len(pilot.expected), pilot.origin) == (6, 3, 20, "run")


def test_several_variants_are_no_pilot(tmp_path: Path) -> None:
    vary = {"algorithm.noise_multiplier": [1.0, 2.0]}
    fedward.replicas(TABLES, replicas=4, vary=vary, out=tmp_path / "run", compute=LOCAL, quiet=True)
    with pytest.raises(InvalidValue, match="a run of one variant with its ledger"):
        pilot_of_run(tmp_path / "run")
