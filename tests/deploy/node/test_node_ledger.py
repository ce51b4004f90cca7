from __future__ import annotations

import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedward.base.validate import InvalidValue
from fedward.deploy.node.node_ledger import FILE, NodeLedger
from fedward.local import DPSGD, NoisyGradient
from fedward.privacy.budget import Budget

TRAINER = NoisyGradient(noise_multiplier=15.0, clip_bound=1.0, noise_source="system")
EVENT = TRAINER.local_event(0)
BUDGET = Budget(epsilon=0.8, delta=1e-5, accountant="pld")  # two rounds, and not three


@settings(max_examples=15)
@given(rounds=st.lists(st.sets(st.sampled_from("abcde")), max_size=6))
def test_nobody_ever_spends_more_than_its_budget_and_everybody_what_it_released(
    rounds: list[set[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    ledger = NodeLedger(tmp_path_factory.mktemp("ledger"), BUDGET)
    released = dict.fromkeys("abcde", 0)
    for users in rounds:
        for name in ledger.charge(sorted(users), TRAINER, EVENT):
            assert name in users
            released[name] += 1
    found = ledger.read()
    for name, count in released.items():
        assert count <= 2
        own = found.ledger(name) if found is not None else None
        assert (own.rounds if own is not None else 0) == count
        if own is not None:
            assert own.guarantee(1e-5, "pld").epsilon <= BUDGET.epsilon


def test_a_charge_is_on_disk_before_it_is_granted_and_for_its_owner_alone(tmp_path: Path) -> None:
    NodeLedger(tmp_path, BUDGET).charge(["ann"], TRAINER, EVENT)
    found = NodeLedger(tmp_path, BUDGET).read()
    assert found is not None
    ledger = found.ledger("ann")
    assert ledger is not None
    assert ledger.rounds == 1
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_another_noise_does_not_go_into_the_same_ledger(tmp_path: Path) -> None:
    NodeLedger(tmp_path, BUDGET).charge(["ann"], TRAINER, EVENT)
    other = DPSGD(
        learning_rate=0.1,
        probability=0.1,
        expected_batch=5.0,
        steps=1,
        noise_multiplier=5.0,
        noise_source="system",
    )
    for trainer in (other, replace(TRAINER, noise_source="seeded")):
        with pytest.raises(InvalidValue, match="does not add up in one ledger"):
            NodeLedger(tmp_path, BUDGET).charge(["ann"], trainer, EVENT)


@pytest.mark.parametrize("damage", ["", "{}", "half", "number"])
def test_a_ledger_that_cannot_be_read_lets_nobody_train(damage: str, tmp_path: Path) -> None:
    ledger = NodeLedger(tmp_path, BUDGET)
    ledger.charge(["ann"], TRAINER, EVENT)
    text = ledger.path.read_text()
    changed = {"half": text[: len(text) // 2], "number": text.replace('"ann"', '"bob"')}.get(damage, damage)
    ledger.path.write_text(changed)
    with pytest.raises(InvalidValue, match="cannot be used"):
        ledger.charge(["ann"], TRAINER, EVENT)
    assert ledger.path.read_text() == changed


def test_users_may_join_later_and_nobody_is_forgotten(tmp_path: Path) -> None:
    ledger = NodeLedger(tmp_path, BUDGET)
    for users in (["ann"], ["bob"], ["eve", "ann"]):
        assert ledger.charge(users, TRAINER, EVENT) == set(users)
    found = ledger.read()
    assert found is not None
    assert [found.ledgers.ledger(place).rounds for place in range(3)] == [2, 1, 1]
    assert found.names == ("ann", "bob", "eve")


def test_two_runs_at_once_do_not_overspend(tmp_path: Path) -> None:
    granted: list[frozenset[str]] = []

    def work() -> None:
        granted.append(NodeLedger(tmp_path, BUDGET).charge(["ann"], TRAINER, EVENT))

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(map(len, granted)) == 2
