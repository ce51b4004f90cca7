"""Which jobs trainings side by side share, and which they must not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from fedward.attacks import Attack, NamedUsers
from fedward.attacks.poisoning import LabelFlip
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds
from fedward.local import DPSGD
from fedward.lockstep.lockstep import Lockstep, Training
from fedward.presets import insdp_fedavg
from fedward.sampling import EveryoneSampler
from lockstep.trained_together import (
    FEDERATION,
    MODEL,
    SEED,
    Counted,
    alone,
    first_cohort,
    go,
    replicas,
    same,
)
from support import Tamperer, tiny_algorithm


def test_the_first_round_of_any_number_of_replicas_and_noise_levels_trains_every_user_once() -> None:
    trainings = [t for z in (0.5, 1.0, 4.0) for t in replicas(30, rounds=1, noise_multiplier=z)]
    _, together, backend = go(trainings)
    assert sorted(job.user for job in backend.jobs) == list(range(12))
    assert together.run == 12
    assert together.asked == sum(map(len, map(first_cohort, trainings)))


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
