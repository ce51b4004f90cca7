"""Every part of an attack goes through the same checks; its examples are in ``part_examples``."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

import fedward
from attacks.staged_training import train_under
from fedward.aggregation import AGGREGATORS, Mean
from fedward.attacks import Attack, NamedUsers, RandomUsers, Staged
from fedward.attacks.model_poisoning import SkipLocalPrivacy
from fedward.attacks.poisoning import SinglePixel, WordBackdoor, poison_examples
from fedward.base.validate import InvalidValue
from fedward.clipping import NoClipping
from fedward.core.algorithm import Algorithm
from fedward.core.parameters import FlatModule
from fedward.core.receive import receive
from fedward.core.round import finish_round
from fedward.core.types import RoundLog, ServerState
from fedward.local import SGD
from fedward.mechanisms import NoNoise
from fedward.sampling import FixedSizeSampler, PoissonSampler
from part_examples import PRESET_EXAMPLES, parts
from support import plan_simulated, tiny_algorithm, tiny_picture_model, tiny_pictures, tiny_sgd

PICTURES, PICTURE_MODEL = tiny_pictures(), tiny_picture_model()


SOME_USERS = NamedUsers(users=(1, 4, 9))


def attack_by(part: Any, who: Any = SOME_USERS) -> Attack:
    """One poisoning and nothing else, with the least knowledge that it needs."""
    if part in parts("poisoning"):
        return Attack(who=who, data=(part,))
    return Attack(who=who, model=(part,), knowledge=part.needs)


# Sentences need text: attacks/poisoning/test_word_training.py has these checks for them.
POISONINGS = [part for part in parts("poisoning") if not isinstance(part, WordBackdoor)]
# Whoever skips local privacy must have some: that one is tried against the presets only.
ATTACK_PARTS = [part for part in (*POISONINGS, *parts("model poisoning")) if part != SkipLocalPrivacy()]
ATTACKS = [*map(attack_by, ATTACK_PARTS), *(attack_by(SinglePixel(), who) for who in parts("who"))]


def under(
    staged: Staged | None, algorithm: Algorithm, *, rounds: int = 2, state: ServerState | None = None
) -> list[tuple[ServerState, RoundLog]]:
    return train_under(staged, algorithm, PICTURE_MODEL, PICTURES, rounds=rounds, state=state)


@pytest.mark.parametrize("part", POISONINGS, ids=repr)
def test_a_poisoning_keeps_shapes_leaves_its_input_alone_and_repeats_itself(part: Any) -> None:
    mine = PICTURES.user(1)
    before = mine.x.clone(), mine.y.clone()  # type: ignore[union-attr]
    part.check(PICTURES, 3)
    for mask in (part.held_out(mine), part.eligible(mine)):
        assert mask.shape == (6,)
        assert mask.dtype == torch.bool
    assert not bool((part.held_out(mine) & ~part.eligible(mine)).any())
    for attacker in range(3):
        bad = part.poison(mine, attacker, 3)
        assert bad.x.shape == mine.x.shape  # type: ignore[union-attr]
        assert bad.x.dtype == mine.x.dtype  # type: ignore[union-attr]
        assert bad.y.tolist() == [part.target] * 6
        results = [poison_examples(part, mine, attacker, 3, np.random.default_rng(0)) for _ in range(2)]
        assert torch.equal(results[0].x, results[1].x)  # type: ignore[arg-type]
        assert torch.equal(results[0].y, results[1].y)
    assert torch.equal(before[0], mine.x)  # type: ignore[arg-type]
    assert torch.equal(before[1], mine.y)


@pytest.mark.parametrize("attack", ATTACKS, ids=repr)
def test_a_training_under_attack_repeats_itself_and_goes_on_from_a_stored_state(attack: Attack) -> None:
    staged = attack.stage(tiny_algorithm(), PICTURES, 1)
    again = attack.stage(tiny_algorithm(), PICTURES, 1)
    assert staged.adversary == again.adversary
    whole, same = under(staged, staged.algorithm, rounds=3), under(again, again.algorithm, rounds=3)
    for (one, _), (other, _) in zip(whole, same, strict=True):
        assert torch.equal(one.parameters, other.parameters)
    resumed = under(again, again.algorithm, rounds=3, state=whole[0][0])
    assert torch.equal(resumed[-1][0].parameters, whole[-1][0].parameters)
    assert resumed[-1][0].ledger == whole[-1][0].ledger
    assert bool(torch.isfinite(whole[-1][0].parameters).all())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recorder(Mean):
    """A mean that keeps every row that comes to it."""

    rows: list[torch.Tensor]

    def add(self, total: torch.Tensor, row: torch.Tensor, num_examples: int) -> torch.Tensor:
        self.rows.append(row.clone())
        return super().add(total, row, num_examples)


@pytest.mark.parametrize("attack", ATTACKS, ids=repr)
def test_an_attack_touches_its_own_users_data_and_rows_only(attack: Attack) -> None:
    # So many that some attacker is always among them.
    staged = attack.stage(tiny_algorithm(sampler=FixedSizeSampler(size=10)), PICTURES, 1)
    before = staged.federation.examples.x.clone()  # type: ignore[union-attr]
    rounds = []
    for adversary in (staged.adversary, None):
        recorder = Recorder(expected_cohort=6.0, rows=[])
        algorithm = dataclasses.replace(
            staged.algorithm, aggregator=recorder, mechanism=NoNoise(), policy=NoClipping()
        )
        state = algorithm.init(FlatModule(PICTURE_MODEL).parameters.clone())
        plan = plan_simulated(algorithm, state, staged.federation, adversary, 1)
        state = dataclasses.replace(state, ledger=state.ledger.reserve(0, plan.event))
        rows = fedward.InProcess(PICTURE_MODEL, staged.federation).train(plan.jobs)
        finish_round(algorithm, state, plan, receive(algorithm, state, plan, rows, 1), 1)
        assert torch.equal(state.parameters, FlatModule(PICTURE_MODEL).parameters)
        rounds.append(list(zip(plan.jobs, recorder.rows, strict=True)))
    theirs = staged.adversary.users
    assert theirs & {job.user for job, _ in rounds[0]}
    for (job, sent), (honest, trained) in zip(*rounds, strict=True):
        assert (job.user, job.num_examples, job.seed) == (honest.user, honest.num_examples, honest.seed)
        if job.user not in theirs:
            assert job.examples is None
            assert (job.version, job.trainer) == ("", honest.trainer)
            assert torch.equal(job.parameters, honest.parameters)
            assert torch.equal(sent, trained)
    assert torch.equal(before, staged.federation.examples.x)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", ATTACK_PARTS, ids=repr)
def test_an_empty_cohort_no_attacker_and_only_attackers_are_trainings_like_any_other(part: Any) -> None:
    nobody = tiny_algorithm(sampler=PoissonSampler(rate=1e-9))
    states = under(attack_by(part).stage(nobody, PICTURES, 1), nobody)
    assert all(log.telemetry is not None and not log.telemetry.cohort for _, log in states)
    assert torch.equal(states[-1][0].parameters, under(None, nobody)[-1][0].parameters)

    algorithm = tiny_algorithm()
    none = attack_by(part, RandomUsers(count=0)).stage(algorithm, PICTURES, 1)
    clean = under(None, algorithm)[-1][0].parameters
    assert torch.equal(under(none, algorithm)[-1][0].parameters, clean)

    everybody = under(attack_by(part, RandomUsers(count=12)).stage(algorithm, PICTURES, 1), algorithm)
    assert bool(torch.isfinite(everybody[-1][0].parameters).all())
    for _, log in everybody:
        assert log.telemetry is not None
        assert log.telemetry.malicious == log.telemetry.cohort
        assert log.telemetry.norms_of(malicious=False) == ()


@pytest.mark.parametrize("part", [*ATTACK_PARTS, SkipLocalPrivacy()], ids=repr)
def test_an_attack_can_be_carried_out_against_every_preset(part: Any) -> None:
    aggregators = [algorithm.aggregator for algorithm in PRESET_EXAMPLES.values()]
    assert {type(getattr(part, "rule", part)) for part in aggregators} == set(AGGREGATORS.values())
    for preset in PRESET_EXAMPLES.values():
        quick = tiny_sgd(epochs=None, steps=1) if isinstance(preset.local, SGD) else preset.local
        algorithm = dataclasses.replace(preset, local=quick)
        staged = attack_by(part).stage(algorithm, PICTURES, 1)
        if part == SkipLocalPrivacy() and algorithm.accounting == "server":
            with pytest.raises(InvalidValue, match="only users that protect themselves can skip"):
                under(staged, algorithm)
            continue
        state, log = under(staged, algorithm)[-1]
        assert bool(torch.isfinite(state.parameters).all()), algorithm.name
        assert log.telemetry is not None
        assert log.telemetry.rejected == (), algorithm.name
        # What is promised stays as it was or is taken back: no attack makes a promise.
        assert state.ledger == staged.algorithm.planned_ledger(12, 2)
        told = dataclasses.replace(staged.algorithm, handed_out=0)
        same = (algorithm, dataclasses.replace(algorithm, deviating=True))
        assert told in same or staged.algorithm.unproven, algorithm.name
