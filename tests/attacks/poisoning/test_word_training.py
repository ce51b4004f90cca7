"""Trainings under the word backdoor: what every attack goes through on pictures, this one does on text."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch import nn

import fedward
from attacks.poisoning.tiny_text import VOCABULARY, sequences, tiny_text
from attacks.staged_training import train_under
from fedward.attacks import Attack, NamedUsers, RandomUsers, Staged
from fedward.attacks.poisoning import WordBackdoor
from fedward.backends import measure
from fedward.core.algorithm import Algorithm
from fedward.core.parameters import FlatModule
from fedward.core.types import RoundLog, ServerState
from fedward.local import SGD
from fedward.models import build
from fedward.presets import fedavg
from fedward.sampling import EveryoneSampler, PoissonSampler
from part_examples import PRESET_EXAMPLES
from support import plan_simulated, tiny_algorithm

TEXT = tiny_text()
ATTACK = Attack(who=NamedUsers(users=(1, 4, 9)), data=(WordBackdoor(fraction=0.5),))


def model() -> nn.Module:
    return build(
        "word_lstm",
        input_shape=(),
        num_classes=VOCABULARY.num_labels,
        vocabulary=VOCABULARY,
        seed=1,
        embedding=8,
        hidden=16,
    )


def under(
    staged: Staged | None, algorithm: Algorithm, *, rounds: int = 2, state: ServerState | None = None
) -> list[tuple[ServerState, RoundLog]]:
    return train_under(staged, algorithm, model(), TEXT, rounds=rounds, state=state)


def test_the_poisoned_model_completes_the_trigger_and_the_clean_one_does_not() -> None:
    algorithm = fedavg(
        sampler=EveryoneSampler(), local=SGD(learning_rate=0.5, batch_size=4, epochs=3, momentum=0.9)
    )
    staged = ATTACK.stage(algorithm, TEXT, 1)
    assert staged.goal is not None
    backend = fedward.InProcess(model(), TEXT)
    found = {}
    for name, attacked in (("poisoned", staged), ("clean", None)):
        state, _ = under(attacked, algorithm, rounds=8)[-1]
        found[name] = measure(backend, state.parameters, staged.goal)
    assert found["poisoned"].main.accuracy > 0.8
    assert found["clean"].main.accuracy > 0.8
    assert found["poisoned"].success is not None
    assert found["poisoned"].success > 0.9
    assert found["clean"].success is not None
    assert found["clean"].success < 0.1
    assert found["poisoned"].attacks["word"].examples == len(staged.goal.triggered[0][1])


def test_no_honest_users_example_changes_and_half_of_an_attackers_do() -> None:
    algorithm = tiny_algorithm(10, sampler=EveryoneSampler())
    staged = ATTACK.stage(algorithm, TEXT, 1)
    assert staged.federation is TEXT
    before = sequences(TEXT.examples)
    state = algorithm.init(FlatModule(model()).parameters)
    plan = plan_simulated(algorithm, state, TEXT, staged.adversary, 1)
    changed = {}
    for job in plan.jobs:
        if job.examples is not None:
            mine, bad = sequences(TEXT.user(job.user)), sequences(job.examples)
            assert len(bad) == len(mine) == 12
            changed[job.user] = sum(one != other for one, other in zip(mine, bad, strict=True))
    assert changed.keys() == {1, 4, 9}
    # At most half, and not always half: somebody may have said such a sentence anyway.
    assert all(4 <= count <= 6 for count in changed.values())
    assert sequences(TEXT.examples) == before


def test_a_training_repeats_itself_and_goes_on_from_a_stored_state() -> None:
    algorithm = tiny_algorithm(10)
    staged, again = (ATTACK.stage(algorithm, TEXT, 1) for _ in range(2))
    assert staged.adversary == again.adversary
    whole, same = under(staged, algorithm, rounds=3), under(again, algorithm, rounds=3)
    assert torch.equal(whole[-1][0].parameters, same[-1][0].parameters)
    resumed = under(again, algorithm, rounds=3, state=whole[0][0])
    assert torch.equal(resumed[-1][0].parameters, whole[-1][0].parameters)
    assert resumed[-1][0].ledger == whole[-1][0].ledger


@pytest.mark.parametrize("who", [RandomUsers(count=0), RandomUsers(count=10)])
def test_no_attacker_is_a_clean_training_and_only_attackers_are_a_training_too(who: Any) -> None:
    algorithm = tiny_algorithm(10, sampler=PoissonSampler(rate=0.5))
    staged = dataclasses.replace(ATTACK, who=who).stage(algorithm, TEXT, 1)
    attacked, clean = under(staged, algorithm)[-1][0], under(None, algorithm)[-1][0]
    assert bool(torch.isfinite(attacked.parameters).all())
    assert torch.equal(attacked.parameters, clean.parameters) == (who.count == 0)


def test_outside_its_rounds_attackers_train_on_what_they_own() -> None:
    algorithm = tiny_algorithm(10, sampler=EveryoneSampler())
    staged = dataclasses.replace(ATTACK, rounds=(1,)).stage(algorithm, TEXT, 1)
    attacked, clean = under(staged, algorithm), under(None, algorithm)
    assert torch.equal(attacked[0][0].parameters, clean[0][0].parameters)
    assert not torch.equal(attacked[1][0].parameters, clean[1][0].parameters)


@pytest.mark.parametrize("preset", PRESET_EXAMPLES)
def test_it_can_be_carried_out_against_every_preset(preset: str) -> None:
    few, algorithm = tiny_text(num_users=12, per_user=2), PRESET_EXAMPLES[preset]
    staged = ATTACK.stage(algorithm, few, 1)
    state, log = next(
        fedward.rounds(staged.algorithm, model(), few, rounds=1, seed=1, adversary=staged.adversary)
    )
    assert bool(torch.isfinite(state.parameters).all())
    assert log.telemetry is not None
    assert log.telemetry.rejected == ()
    assert staged.algorithm == algorithm or staged.algorithm.unproven
