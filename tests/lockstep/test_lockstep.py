from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedward.backends import InProcess
from fedward.core.types import Row, ServerState
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.lockstep.row_store import RowStore
from fedward.presets import krum
from fedward.privacy.budget import Budget
from fedward.sampling import EveryoneSampler, PoissonSampler
from lockstep.trained_together import FEDERATION, MODEL, SEED, Counted, alone, go, replicas, same
from support import Tamperer, tiny_algorithm, tiny_sgd


@pytest.mark.parametrize("options", [{}, {"deduplicate": False}, {"memory": 0}, {"memory": 200}])
def test_every_training_comes_to_the_same_bits_as_by_itself(options: dict[str, Any]) -> None:
    tampering = Tamperer({1, 2}, lambda user, update: -update, FEDERATION.user(0))
    trainings = [
        *replicas(3),
        *replicas(2, noise_multiplier=3.0),
        Training(algorithm=tiny_algorithm(), rounds=2, replica=1, adversary=tampering),
        Training(algorithm=krum(sampler=EveryoneSampler(), local=tiny_sgd(), malicious=2), rounds=2),
    ]
    states, together, backend = go(trainings, **options)
    for training, state in zip(trainings, states, strict=True):
        assert same(state, alone(training))
    assert together.run == len(backend.jobs)
    assert (together.run < together.asked) == options.get("deduplicate", True)


def test_a_training_that_is_over_or_out_of_budget_stays_as_it_is() -> None:
    small = Budget(epsilon=2.5, delta=0.01, accountant="rdp")
    trainings = [
        *replicas(1, rounds=1),
        Training(algorithm=tiny_algorithm(), rounds=4, budget=small),
        *replicas(1, rounds=4),
    ]
    states, _, _ = go(trainings)
    assert [states[0].round, states[2].round] == [1, 4]
    assert 1 <= states[1].round < 4
    assert same(states[1], alone(trainings[1]))


def test_jobs_are_counted_as_their_rows_come() -> None:
    trainings = replicas(3, sampler=EveryoneSampler(), local=tiny_sgd())
    trainings[1] = replace(trainings[1], algorithm=tiny_algorithm(local=tiny_sgd(epochs=2)))
    together = Lockstep(MODEL, FEDERATION, Counted(), seed=SEED)
    seen = [together.run for _ in together.round(trainings, together.start(trainings))]
    assert seen[0] == 12
    assert seen[0] < seen[1] == seen[2] == together.run


def test_rows_that_other_trainings_wait_for_take_no_more_memory_than_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In later rounds too: two trainings that differ in nothing share all their rows."""
    stores: list[RowStore] = []

    class Seen(RowStore):
        def __init__(self, memory: int) -> None:
            super().__init__(memory)
            stores.append(self)

    monkeypatch.setattr("fedward.lockstep.lockstep.RowStore", Seen)
    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    trainings = [Training(algorithm=algorithm, rounds=3, replica=0) for _ in range(3)]
    row = 4 * sum(p.numel() for p in MODEL.parameters())
    together = Lockstep(MODEL, FEDERATION, Counted(), seed=SEED, memory=20 * row)
    states = together.start(trainings)
    on_disk = []
    for _ in range(3):
        after = []
        for state, _ in together.round(trainings, states):
            after.append(state)
            in_memory = sum(isinstance(held, Row) for store in stores for held in store._rows.values())
            assert in_memory <= 20
            on_disk.append(sum(map(len, stores)) - in_memory)
        states = after
    # The first round's 12 rows stay, so that 8 of the 12 of a later one find room, until the last has them.
    assert on_disk == [0, 0, 0, 4, 4, 0, 4, 4, 0]
    assert all(same(state, alone(trainings[0])) for state in states)


@settings(max_examples=15, deadline=None)
@given(
    block=st.integers(1, 7),
    count=st.integers(1, 7),
    memory=st.integers(0, 400),
    rate=st.sampled_from([0.1, 0.5, 0.9]),
)
def test_blocks_of_any_size_give_the_same_bits(block: int, count: int, memory: int, rate: float) -> None:
    trainings = replicas(count, rounds=2, sampler=PoissonSampler(rate=rate))
    together = Lockstep(MODEL, FEDERATION, InProcess(MODEL, FEDERATION), seed=SEED, memory=memory)
    found: list[ServerState] = []
    for start in range(0, count, block):
        part = trainings[start : start + block]
        states = together.start(part)
        for _ in range(2):
            states = [state for state, _ in together.round(part, states)]
        found += states
    expected, _, _ = go(trainings, deduplicate=False)
    assert all(same(a, b) for a, b in zip(found, expected, strict=True))
