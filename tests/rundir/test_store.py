"""A ledger and a checkpoint that are not of the same moment: gone on with, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent

from core.rounds import start
from fedward.base.validate import InvalidValue
from fedward.config.experiment import from_content
from fedward.core.types import ServerState
from fedward.privacy.user_ledgers import UserLedgers
from fedward.rundir.store import RunDirectory, open_run
from fedward.studies.training.setup import prepare
from support import tiny_algorithm
from tiny_experiment import CONTENT
from training_steps import run

EVENT = GaussianDpEvent(3.0)
STARTED = start(tiny_algorithm())


def after(rounds: int) -> ServerState:
    """The state of a training with so many finished rounds."""
    ledger = STARTED.ledger.charged(EVENT, rounds) if rounds else STARTED.ledger
    return replace(STARTED, round=rounds, ledger=ledger)


def with_users(rounds: int) -> ServerState:
    """The same where each of three users has a ledger, and all take part in every round."""
    users = UserLedgers.new(3, unit="user", adjacency="local")
    for t in range(rounds):
        users = users.reserve(t, np.arange(3), EVENT).settle(t)
    return replace(after(rounds), users=users)


@pytest.mark.parametrize("checkpoint", [0, 1, 2])
def test_a_checkpoint_older_than_the_ledger_is_refused(tmp_path: Path, checkpoint: int) -> None:
    directory = RunDirectory(tmp_path)
    directory.reserve(after(3).ledger)
    with pytest.raises(InvalidValue, match=f"must hold the checkpoint of round 3, got that of {checkpoint}"):
        directory.with_reservation(after(checkpoint))


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_a_round_that_was_reserved_and_not_finished_stays_spent(tmp_path: Path, rounds: int) -> None:
    directory, state = RunDirectory(tmp_path), after(rounds)
    directory.reserve(state.ledger.reserve(rounds, EVENT))
    found = directory.with_reservation(state).ledger
    assert found == state.ledger.reserve(rounds, EVENT)
    assert sum(count for _, count in found.spending) == rounds + 1


def test_a_round_that_the_checkpoint_has_settled_is_not_reserved_again(tmp_path: Path) -> None:
    """Killed after the checkpoint of round 2 and before the reservation of round 3."""
    directory = RunDirectory(tmp_path)
    directory.reserve(after(2).ledger.reserve(2, EVENT))
    found = directory.with_reservation(after(3)).ledger
    assert (found.rounds, found.reserved) == (3, None)


def test_a_checkpoint_whose_ledger_is_lost_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"holds a checkpoint but no ledger\.json"):
        RunDirectory(tmp_path).with_reservation(after(1))
    assert RunDirectory(tmp_path).with_reservation(after(0)).ledger == STARTED.ledger


@pytest.mark.parametrize("rounds", [0, 2])
def test_what_users_had_reserved_stays_spent_and_what_they_had_settled_is_not_gone_back_to(
    tmp_path: Path, rounds: int
) -> None:
    state, later = with_users(rounds), with_users(rounds + 1)
    assert state.users is not None
    directory, cohort = RunDirectory(tmp_path), np.array([0, 2])
    directory.reserve(state.ledger.reserve(rounds, EVENT), state.users.reserve(rounds, cohort, EVENT))
    found = directory.with_reservation(state).users
    assert found is not None
    assert [sum(count for _, count in found.ledger(user).spending) for user in range(3)] == [
        rounds + 1,
        rounds,
        rounds + 1,
    ]
    settled = directory.with_reservation(later).users
    assert settled is not None
    assert settled.reserved is None


def test_ledgers_of_another_number_of_users_are_refused(tmp_path: Path) -> None:
    directory, state = RunDirectory(tmp_path), with_users(1)
    directory.reserve(state.ledger, UserLedgers.new(4, unit="user", adjacency="local"))
    with pytest.raises(InvalidValue, match="must hold ledgers of 3 users, got 4"):
        directory.with_reservation(state)


@pytest.mark.usefixtures("edited_by_hand")
def test_a_run_does_not_go_on_from_an_older_copy_of_its_checkpoint(tmp_path: Path) -> None:
    setup = prepare(from_content({**CONTENT, "rounds": 4}))
    copies = []
    with open_run(tmp_path) as directory:
        for progress in run(setup, directory):
            copies.append((tmp_path / "checkpoint.pt").read_bytes())
            if progress.rounds == 3:
                break
    (tmp_path / "checkpoint.pt").write_bytes(copies[0])
    before = (tmp_path / "ledger.json").read_bytes()
    with open_run(tmp_path) as directory, pytest.raises(InvalidValue, match="must hold the checkpoint of"):
        list(run(setup, directory))
    assert (tmp_path / "ledger.json").read_bytes() == before
