from __future__ import annotations

import time
from typing import Any

import pytest

from fedward.config.experiment import from_content
from fedward.privacy.rounding import round_up_digits
from fedward.reports.terminal.spending_meter import SpendingMeter
from fedward.rundir.store import open_run
from fedward.studies.progress import Progress
from fedward.studies.training.training_study import Setup, prepare
from tiny_experiment import CONTENT
from training_steps import run

OWN: dict[str, Any] = {
    "preset": "insdp_fedavg",
    "sampler": {"name": "poisson", "rate": 0.5},
    "local": {
        "name": "dp_sgd",
        "learning_rate": 0.1,
        "probability": 0.5,
        "expected_batch": 50,
        "steps": 2,
        "noise_multiplier": 2.0,
        "clip_bound": 1.0,
    },
}


def steps(tmp_path: Any, **changed: Any) -> tuple[Setup, list[Progress]]:
    setup = prepare(from_content(CONTENT | {"rounds": 4} | changed))
    with open_run(tmp_path / "run") as directory:
        return setup, list(run(setup, directory))


def test_spent_and_left_are_those_of_the_ledger(tmp_path: Any) -> None:
    setup, found = steps(tmp_path)
    meter = SpendingMeter(setup)
    whole = setup.planned.epsilon
    after_2 = setup.guarantee(2).epsilon
    assert meter.words(found[1]) == (
        f"ε {round_up_digits(after_2)} spent, {whole - after_2:.4g} left of {round_up_digits(whole)} "
        "(whole training), user level, add/remove, δ = 0.01, rdp, seeded noise: research only"
    )
    assert SpendingMeter(setup).words(found[3]).startswith(f"ε {round_up_digits(whole)} spent, 0 left of ")


def test_with_a_budget_the_rest_of_it_is_left(tmp_path: Any) -> None:
    setup, found = steps(tmp_path, privacy=CONTENT["privacy"] | {"budget": 50.0})
    spent = setup.guarantee(1).epsilon
    left = f"{50.0 - spent:.4g} left of 50 (budget)"
    assert left in SpendingMeter(setup).words(found[0])


def test_an_epsilon_that_takes_long_is_not_computed_for_every_round(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup, found = steps(tmp_path)
    now = iter([0.0, 3.0, 5.0, 33.5, 36.0, 36.5, 40.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    meter = SpendingMeter(setup)
    assert " spent, " in meter.words(found[0])  # it took 3 seconds: the next may not before 33
    assert " spent by round 1, " in meter.words(found[1])
    assert " spent, " in meter.words(found[2])
    # The last is always known: it is what stays on the screen.
    assert " spent, 0 left" in meter.words(found[3])


def test_without_a_proof_no_number_is_shown(tmp_path: Any) -> None:
    plain = {key: CONTENT["algorithm"][key] for key in ("sampler", "local")}
    setup, found = steps(tmp_path, algorithm={"preset": "fedavg", **plain})
    assert SpendingMeter(setup).words(found[0]) == "no privacy guarantee"


def test_where_users_protect_themselves_it_is_the_worst_of_them(tmp_path: Any) -> None:
    setup, found = steps(tmp_path, algorithm=OWN)
    users = found[-1].users
    assert users is not None
    worst = users.guarantees(0.01, "rdp").worst.epsilon
    assert SpendingMeter(setup).words(found[-1]).startswith(f"a user's ε {round_up_digits(worst)} spent, ")
