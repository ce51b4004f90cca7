from __future__ import annotations

from typing import Any

from fedward.config.experiment import from_content
from fedward.studies.certification.claimed_ceiling import forecast_ceilings
from fedward.studies.training.setup import prepare
from studies.small_tables import BASE, POISSON, SGD

NOISE = {"clip_bound": 1.0, "noise_multiplier": 4.0}
NOISY = {"preset": "user_dp_fedavg", "sampler": POISSON, "local": SGD, **NOISE}


def threats(**changes: Any) -> list[str]:
    setup = prepare(from_content(BASE | {"algorithm": NOISY} | changes))
    return [each.threat for each in forecast_ceilings(setup, 200)]


def test_every_threat_has_a_ceiling_where_users_are_declared() -> None:
    assert threats(privacy={"users": 20}) == ["inject", "present", "compromise"]


def test_nothing_is_said_about_users_who_join_where_they_are_not_declared() -> None:
    assert threats() == ["present", "compromise"]


def test_where_nothing_can_be_certified_there_is_no_ceiling() -> None:
    assert threats(algorithm={"preset": "fedavg", "sampler": POISSON, "local": SGD}) == []
