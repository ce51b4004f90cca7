from __future__ import annotations

from dataclasses import replace

import pytest

import fedward
from core.self_protected import FEDERATION, MODEL, START, insdp
from fedward.base.validate import InvalidValue
from fedward.core.algorithm import Algorithm
from fedward.core.reserve_ahead import reserve_ahead
from fedward.core.types import ServerState
from fedward.privacy import Budget, ledger_file, user_ledgers_file
from support import tiny_algorithm

ALGORITHMS = [tiny_algorithm(), insdp()]


def ahead(algorithm: Algorithm, rounds: int, budget: Budget | None = None) -> ServerState:
    state = algorithm.init(START, num_users=12)
    return reserve_ahead(algorithm, state, FEDERATION.roster, rounds=rounds, seed=2, budget=budget)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("limited", [False, True])
def test_it_reserves_just_what_the_training_will_have_spent(algorithm: Algorithm, limited: bool) -> None:
    budget = None
    if limited:
        enough = algorithm.guarantee(12, 3, 1e-3, "rdp").epsilon
        budget = Budget(epsilon=enough * 1.001, delta=1e-3, accountant="rdp")
    reserved = ahead(algorithm, 6, budget)
    assert reserved.ledger.rounds_reserved == 6 or limited
    for state in (None, replace(reserved, parameters=START)):  # from the beginning, and resumed with it
        states = fedward.rounds(algorithm, MODEL, FEDERATION, rounds=6, seed=2, state=state, budget=budget)
        after = [found for found, _ in states][-1]
        assert after.round == reserved.ledger.rounds_reserved
        assert ledger_file.dumps(reserved.ledger.settled()) == ledger_file.dumps(after.ledger)
        if after.users is not None and reserved.users is not None:
            settled = reserved.users.settled()
            assert user_ledgers_file.dumps(settled) == user_ledgers_file.dumps(after.users)


def test_it_may_be_asked_for_again() -> None:
    for algorithm in ALGORITHMS:
        once = ahead(algorithm, 4)
        again = reserve_ahead(algorithm, once, FEDERATION.roster, rounds=4, seed=2, budget=None)
        assert ledger_file.dumps(again.ledger) == ledger_file.dumps(once.ledger)


def test_fresh_noise_is_not_reserved_ahead() -> None:
    with pytest.raises(InvalidValue, match="must have seeded noise"):
        ahead(tiny_algorithm(noise_source="system"), 3)
