from __future__ import annotations

from pathlib import Path

from fedward.reports.page.findings.compared_training import trainings_of
from fedward.rundir.run_record import load


def test_every_variant_has_a_name_and_a_colour_of_its_own(varied_run: Path) -> None:
    first, second = trainings_of(load(varied_run), "many", "run-4", 3)
    assert [each.name for each in (first, second)] == [
        "many: noise_multiplier=1.5",
        "many: noise_multiplier=2.0",
    ]
    assert [each.number for each in (first, second)] == [3, 4]
    assert first.style != second.style
    assert {each.key for each in (first, second)} == {"run-4"}


def test_numbers_are_those_of_the_files(private_run: Path, attacked_run: Path, certified_run: Path) -> None:
    (private,) = trainings_of(load(private_run), "a", "run-1", 0)
    (attacked,) = trainings_of(load(attacked_run), "b", "run-2", 1)
    (certified,) = trainings_of(load(certified_run), "c", "run-3", 2)
    assert private.alone
    assert not certified.alone
    assert certified.accuracy == 0.9
    assert private.attack_success is None
    assert attacked.attack_success is not None
    assert private.guarantee is not None
    assert attacked.guarantee is None
    assert attacked.released
    assert (private.users, certified.users, private.data_name) == (12, 200, "digits")
