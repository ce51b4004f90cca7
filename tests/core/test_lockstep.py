from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedward.attacks import Attack, NamedUsers
from fedward.attacks.poisoning import LabelFlip
from fedward.backends import InProcess
from fedward.core.examples import Examples
from fedward.core.failure import TrainingFailed
from fedward.core.lockstep import Lockstep, Training
from fedward.core.parameters import FlatModule
from fedward.core.row_store import RowStore
from fedward.core.train import train
from fedward.core.types import Bounds, Job, RoundLog, Row, ServerState
from fedward.core.validate import InvalidValue
from fedward.local import DPSGD
from fedward.presets import insdp_fedavg, krum
from fedward.privacy.budget import Budget
from fedward.sampling import EveryoneSampler, PoissonSampler
from support import Tamperer, tiny_algorithm, tiny_federation, tiny_model, tiny_sgd

FEDERATION = tiny_federation()
MODEL = tiny_model()
SEED = 11


class Counted:
    """A backend that remembers what it was asked to run."""

    def __init__(self) -> None:
        self._inner = InProcess(MODEL, FEDERATION)
        self.jobs: list[Job] = []

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        for job in jobs:
            self.jobs.append(job)
            yield from self._inner.train([job])


def go(trainings: list[Training], **options: Any) -> tuple[list[ServerState], Lockstep, Counted]:
    backend = Counted()
    together = Lockstep(MODEL, FEDERATION, backend, seed=SEED, **options)
    states = together.start(trainings)
    for _ in range(max(training.rounds for training in trainings)):
        states = [state for state, _ in together.round(trainings, states)]
    return states, together, backend


def alone(training: Training) -> ServerState:
    backend = InProcess(MODEL, FEDERATION)
    state = training.algorithm.init(
        torch.cat([p.detach().reshape(-1) for p in MODEL.parameters()]),
        training.replica,
        FEDERATION.num_users,
    )
    for state, _ in train(
        training.algorithm,
        MODEL,
        FEDERATION,
        backend,
        rounds=training.rounds,
        seed=SEED,
        replica=training.replica,
        adversary=training.adversary,
        budget=training.budget,
    ):
        pass
    return state


def same(a: ServerState, b: ServerState) -> bool:
    return (
        torch.equal(a.parameters, b.parameters)
        and a.ledger == b.ledger
        and a.policy == b.policy
        and (a.round, a.replica) == (b.round, b.replica)
    )


def replicas(count: int, rounds: int = 2, **changes: Any) -> list[Training]:
    algorithm = tiny_algorithm(**changes)
    return [Training(algorithm=algorithm, rounds=rounds, replica=r) for r in range(count)]


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


def test_the_first_round_of_any_number_of_replicas_and_noise_levels_trains_every_user_once() -> None:
    trainings = [t for z in (0.5, 1.0, 4.0) for t in replicas(30, rounds=1, noise_multiplier=z)]
    _, together, backend = go(trainings)
    assert sorted(job.user for job in backend.jobs) == list(range(12))
    assert together.run == 12
    assert together.asked == sum(len(alone_log.cohort) for alone_log in map(_first_cohort, trainings))


def _first_cohort(training: Training) -> Any:
    rounds = train(
        training.algorithm,
        MODEL,
        FEDERATION,
        InProcess(MODEL, FEDERATION),
        rounds=1,
        seed=SEED,
        replica=training.replica,
    )
    return next(iter(rounds))[1].telemetry


def test_rows_of_the_first_round_serve_later_blocks_until_they_are_forgotten() -> None:
    backend = Counted()
    together = Lockstep(MODEL, FEDERATION, backend, seed=SEED)
    blocks = [replicas(20, rounds=1)[i : i + 10] for i in (0, 10)]
    for block in blocks:
        list(together.round(block, together.start(block)))
    assert len(backend.jobs) == len({job.user for job in backend.jobs}) <= 12
    before = len(backend.jobs)
    together.forget()
    list(together.round(blocks[0], together.start(blocks[0])))
    assert len(backend.jobs) > before


def test_an_attack_shares_all_jobs_until_it_begins() -> None:
    """The same replica with and without attackers is one training until the round they choose."""

    class FromRoundTwo(Tamperer):
        def poison(
            self, user: int, examples: Examples, round: int, rng: np.random.Generator
        ) -> tuple[str, Examples] | None:
            return super().poison(user, examples, round, rng) if round >= 2 else None

        def tamper(self, user: int, update: Any, sight: Any, rng: np.random.Generator) -> Any:
            return -update if sight.round >= 2 else update

    adversary = FromRoundTwo({0, 1, 2}, lambda user, update: update, FEDERATION.user(5))
    algorithm = tiny_algorithm()
    clean = Training(algorithm=algorithm, rounds=3)
    trainings = [clean, replace(clean, adversary=adversary)]
    backend = Counted()
    together = Lockstep(MODEL, FEDERATION, backend, seed=SEED)
    states = together.start(trainings)
    counts = []
    for _ in range(3):
        asked, run = together.asked, together.run
        states = [state for state, _ in together.round(trainings, states)]
        counts.append((together.asked - asked, together.run - run))
    assert counts[0][0] == 2 * counts[0][1]
    assert counts[1][0] == 2 * counts[1][1]
    poisoned = [job for job in backend.jobs if job.examples is not None]
    assert poisoned
    assert counts[2][1] == counts[2][0] // 2 + len(poisoned)


def test_poisoned_data_of_one_name_but_other_content_is_not_shared() -> None:
    """A version's name is the adversary's to choose: nothing may hang on it."""
    others = [Tamperer({0, 1, 2}, lambda user, update: update, FEDERATION.user(u)) for u in (5, 6)]
    trainings = [Training(algorithm=tiny_algorithm(), rounds=1, adversary=adversary) for adversary in others]
    states, _, _ = go(trainings)
    for training, state in zip(trainings, states, strict=True):
        assert same(state, alone(training))
    assert not torch.equal(states[0].parameters, states[1].parameters)


def test_jobs_that_draw_private_noise_are_never_shared() -> None:
    local = DPSGD(
        learning_rate=0.1, probability=0.5, expected_batch=2.5, steps=2, noise_multiplier=1.0, clip_bound=1.0
    )
    algorithm = insdp_fedavg(num_users=12, sampler=EveryoneSampler(), local=local)
    trainings = [Training(algorithm=algorithm, rounds=1, replica=r) for r in (0, 1, 1)]
    states, together, _ = go(trainings)
    assert together.run == together.asked == 36
    assert torch.equal(states[1].parameters, states[2].parameters)
    assert not torch.equal(states[0].parameters, states[1].parameters)
    for training, state in zip(trainings, states, strict=True):
        assert same(state, alone(training))


class Unhashable:
    """A trainer that cannot be compared, and behaves differently each time."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, step: float) -> None:
        self.step = step

    def at_round(self, round: int, bounds: Bounds) -> Unhashable:
        return self

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        model.weights.add_(self.step)


def test_trainers_that_cannot_be_compared_are_not_taken_for_equal() -> None:
    trainings = [
        Training(algorithm=tiny_algorithm(local=Unhashable(step)), rounds=1, replica=0) for step in (0.1, 0.2)
    ]
    states, together, _ = go(trainings)
    assert together.run == together.asked
    assert not torch.equal(states[0].parameters, states[1].parameters)


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


def test_what_does_not_fit_is_refused_before_any_job_runs() -> None:
    backend = Counted()
    together = Lockstep(MODEL, FEDERATION, backend, seed=SEED)
    with pytest.raises(InvalidValue, match="rounds must be"):
        together.start(replicas(1, rounds=0))
    with pytest.raises(InvalidValue, match="budget must be at least"):
        together.start(
            [
                Training(
                    algorithm=tiny_algorithm(),
                    rounds=1,
                    budget=Budget(epsilon=1e-6, delta=1e-9, accountant="rdp"),
                )
            ]
        )
    assert backend.jobs == []


class Failing:
    def at_round(self, round: int, bounds: Bounds) -> Failing:
        return self

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        raise RuntimeError("no such thing")


def test_a_failure_names_user_round_and_replica() -> None:
    trainings = [
        Training(algorithm=tiny_algorithm(local=Failing(), sampler=EveryoneSampler()), rounds=2, replica=4)
    ]
    with pytest.raises(TrainingFailed, match=r"round 1, user 0, replica 4: .*RuntimeError: no such thing"):
        go(trainings)


class Broken:
    """Trains like anybody, but what some users send is not finite."""

    def __init__(self, users: set[int]) -> None:
        self._inner, self._users = InProcess(MODEL, FEDERATION), users

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        for job in jobs:
            (row,) = self._inner.train([job])
            yield replace(row, update=row.update * float("nan")) if job.user in self._users else row


def one_round(trainings: list[Training], backend: Broken) -> list[RoundLog | None]:
    together = Lockstep(MODEL, FEDERATION, backend, seed=SEED)
    return [log for _, log in together.round(trainings, together.start(trainings))]


def test_one_user_whose_updates_are_never_finite_ends_nothing_in_any_number_of_replicas() -> None:
    logs = one_round(replicas(300, sampler=PoissonSampler(rate=0.15)), Broken({3}))
    cohorts = [log.telemetry.cohort for log in logs if log is not None and log.telemetry is not None]
    assert (3,) in cohorts  # one with nobody but that user


def test_a_cohort_without_one_finite_update_ends_nothing_where_others_have_some() -> None:
    trainings = replicas(20, rounds=1, sampler=PoissonSampler(rate=0.15))
    cohorts = [_first_cohort(training).cohort for training in trainings]
    first = next(i for i, cohort in enumerate(cohorts) if len(cohort) == 2)
    logs = one_round([trainings[first], *trainings], Broken(set(cohorts[first])))
    assert len(logs) == 21


def test_a_model_that_no_replica_can_train_is_noticed_however_small_the_cohorts() -> None:
    trainings = replicas(6, sampler=PoissonSampler(rate=0.08))
    with pytest.raises(TrainingFailed, match=r"^round 1, user \d+: none of the \d+ honest updates is finite"):
        one_round(trainings, Broken(set(range(12))))


def test_an_algorithm_that_cannot_be_trained_is_noticed_beside_one_that_can() -> None:
    wild = tiny_algorithm(local=tiny_sgd(learning_rate=1e38, epochs=20))
    trainings = [*replicas(3), Training(algorithm=wild, rounds=2)]
    with pytest.raises(TrainingFailed, match="learning rate is too high"):
        go(trainings)


def test_what_diverges_after_a_first_finite_update_ends_nothing_also_in_another_session() -> None:
    trainings = replicas(3, rounds=3, sampler=EveryoneSampler())
    states, _, _ = go([replace(training, rounds=1) for training in trainings])
    together = Lockstep(MODEL, FEDERATION, Broken(set(range(12))), seed=SEED)
    assert [state.round for state, _ in together.round(trainings, states)] == [2, 2, 2]


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

    monkeypatch.setattr("fedward.core.lockstep.RowStore", Seen)
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


def test_poisoned_data_is_held_once_however_many_replicas_are_attacked() -> None:
    attack = Attack(who=NamedUsers(users=(1, 4, 9)), data=(LabelFlip(target=0, fraction=0.5),))
    staged = attack.stage(tiny_algorithm(sampler=EveryoneSampler()), FEDERATION, SEED)
    trainings = [
        Training(algorithm=staged.algorithm, rounds=3, replica=r, adversary=staged.adversary)
        for r in range(10)
    ]
    states, _, backend = go(trainings, deduplicate=False)
    poisoned = [job.examples for job in backend.jobs if job.examples is not None]
    assert len(poisoned) == 3 * 10 * 3
    assert len(set(map(id, poisoned))) == 3
    assert all(same(state, alone(each)) for state, each in zip(states, trainings, strict=True))


def test_data_that_an_adversary_writes_to_later_is_not_what_others_train_on() -> None:
    data = FEDERATION.examples.select(torch.arange(4))

    class Rewriting(Tamperer):
        """Hands over memory that others write to as well."""

        def __init__(self, label: int) -> None:
            super().__init__({0, 1}, lambda user, update: update)
            self._label = label

        def poison(
            self, user: int, examples: Examples, round: int, rng: np.random.Generator
        ) -> tuple[str, Examples] | None:
            data.y.fill_(self._label)
            return "poisoned", data

    algorithm = tiny_algorithm(sampler=EveryoneSampler())
    trainings = [Training(algorithm=algorithm, rounds=3, adversary=Rewriting(label)) for label in (0, 1)]
    states, _, _ = go(trainings)
    assert all(same(state, alone(each)) for state, each in zip(states, trainings, strict=True))


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
