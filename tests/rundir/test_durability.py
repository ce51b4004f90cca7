from __future__ import annotations

from pathlib import Path

import pytest

from fedward.base.validate import InvalidValue
from fedward.rundir.durability import Durability
from fedward.rundir.manifest import Manifest
from fedward.rundir.results import MeasuredRound
from fedward.rundir.run_record import RunRecord


def test_the_lifespan_is_the_first_measurement_below_the_threshold() -> None:
    found = Durability.of({2: 0.1, 5: 1.0, 6: 0.7, 10: 0.5, 15: 0.4, 20: 0.9}, last_attack=5)
    assert found.success == {0: 1.0, 1: 0.7, 5: 0.5, 10: 0.4, 15: 0.9}
    assert found.lifespan == 10
    assert found.watched == 15
    assert Durability.of(dict(found.success), last_attack=0, threshold=0.05).lifespan is None


@pytest.mark.parametrize("threshold", [0.0, 1.5])
def test_a_threshold_must_be_a_share(threshold: float) -> None:
    with pytest.raises(InvalidValue, match="threshold of durability must be"):
        Durability.of({5: 1.0}, last_attack=5, threshold=threshold)


def test_without_a_measurement_after_the_attack_nothing_is_known() -> None:
    with pytest.raises(InvalidValue, match="in or after the last round of the attack, 9, got none"):
        Durability.of({5: 1.0}, last_attack=9)


def record(attack: dict[str, object] | None) -> RunRecord:
    manifest = Manifest.model_construct(experiment={"attack": attack} if attack else {})
    rounds = [
        MeasuredRound(round=t, accuracy=0.9, loss=0.1, attack_success=success, attack_cost=1.0)
        for t, success in ((3, 0.9), (7, 0.6), (11, 0.2))
    ]
    return RunRecord(path=Path("run"), manifest=manifest, metrics=tuple(rounds))


def test_a_run_whose_attackers_leave_knows_how_long_its_backdoor_lasts() -> None:
    found = record({"rounds": [1, 3]}).durability()
    assert found.last_attack == 3
    assert found.lifespan == 8


@pytest.mark.parametrize("attack", [None, {"rounds": None}, {}])
def test_a_run_whose_attackers_never_leave_does_not(attack: dict[str, object] | None) -> None:
    with pytest.raises(InvalidValue, match="durability needs attackers that leave"):
        record(attack).durability()
