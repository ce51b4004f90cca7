from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import fedward
from fedward.attacks import Attacker
from fedward.attacks.model_poisoning import ConstrainAndScale, TrainAndScale
from fedward.base.validate import InvalidType, InvalidValue
from fedward.clipping import RawMedian
from fedward.core.check import check_setup
from fedward.core.types import Bounds, LocalTrainer
from fedward.local import ProjectedSGD
from fedward.presets import bulyan, krum
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from support import Tamperer, tiny_algorithm, tiny_federation, tiny_model, tiny_sgd

FEDERATION, MODEL = tiny_federation(), tiny_model()


def crew(**changes: Any) -> Attacker:
    fields: dict[str, Any] = {
        "users": frozenset({1}),
        "knowledge": "own",
        "rounds": None,
        "data": (),
        "model": (),
    }
    return Attacker(**(fields | changes))


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        (
            krum(sampler=FixedSizeSampler(size=6), local=tiny_sgd(), malicious=2),
            r"Krum\(malicious=2\) needs cohorts of at least 7 users, but fixed-size sampling m = 6 of 12 "
            "users is expected to give 6",
        ),
        (
            krum(sampler=PoissonSampler(rate=0.5), local=tiny_sgd(), malicious=2),
            "Poisson sampling q = 0.5 of 12 users is expected to give 6",
        ),
        (
            bulyan(sampler=EveryoneSampler(), local=tiny_sgd(), malicious=3),
            "at least 15 users, but everyone in every round of 12",
        ),
    ],
)
def test_a_rule_that_needs_more_than_the_expected_cohort_is_refused_before_training(
    algorithm: Any, message: str
) -> None:
    with pytest.raises(InvalidValue, match=message):
        fedward.rounds(algorithm, MODEL, FEDERATION, rounds=2, seed=1)


def test_a_cohort_that_is_just_large_enough_is_taken() -> None:
    for sampler in (FixedSizeSampler(size=7), PoissonSampler(rate=7 / 12)):
        check_setup(krum(sampler=sampler, local=tiny_sgd(), malicious=2), MODEL, FEDERATION.roster)


@pytest.mark.parametrize("users", [{-1}, {3, 12}])
def test_attackers_that_are_nobody_are_refused(users: set[int]) -> None:
    adversary = Tamperer(users, lambda user, update: update)
    with pytest.raises(InvalidValue, match=r"attackers must be users from 0 to 11, got (-1|12)"):
        fedward.rounds(tiny_algorithm(), MODEL, FEDERATION, rounds=2, seed=1, adversary=adversary)


def test_an_adversary_must_say_what_it_knows() -> None:
    adversary = Tamperer({1}, lambda user, update: update)
    adversary.knowledge = "everything"  # type: ignore[assignment]
    with pytest.raises(InvalidValue, match="knowledge must be one of own, cohort, got 'everything'"):
        fedward.rounds(tiny_algorithm(), MODEL, FEDERATION, rounds=2, seed=1, adversary=adversary)


def test_an_attacker_that_could_not_train_is_refused_before_training() -> None:
    """With raw-median clipping no bound is known before the round."""
    algorithm = replace(tiny_algorithm(), policy=RawMedian())
    for part in (
        ConstrainAndScale(local=tiny_sgd(), factor=5.0),
        TrainAndScale(local=ProjectedSGD(sgd=tiny_sgd()), factor=5.0),
    ):
        for rounds in (None, (1,)):
            adversary = crew(model=(part,), rounds=rounds)
            with pytest.raises(InvalidValue):
                fedward.rounds(algorithm, MODEL, FEDERATION, rounds=2, seed=1, adversary=adversary)


def test_every_round_of_a_schedule_is_tried() -> None:
    class Late(Tamperer):
        rounds = (0, 3)

        def trainer(self, trainer: LocalTrainer, round: int, bounds: Bounds) -> LocalTrainer:
            if round == 3:
                raise InvalidValue("nothing to train with in round 3")
            return trainer

    adversary = Late({1}, lambda user, update: update)
    with pytest.raises(InvalidValue, match="in round 3"):
        fedward.rounds(tiny_algorithm(), MODEL, FEDERATION, rounds=4, seed=1, adversary=adversary)


@pytest.mark.parametrize("chosen", [(4,), (0, 9)])
def test_an_attack_in_rounds_that_never_come_is_refused(chosen: tuple[int, ...]) -> None:
    message = rf"rounds of the attack must lie below the number of rounds, 4, got {chosen[-1]} \(.*from 0"
    with pytest.raises(InvalidValue, match=message):
        fedward.rounds(tiny_algorithm(), MODEL, FEDERATION, rounds=4, seed=1, adversary=crew(rounds=chosen))
    fedward.rounds(tiny_algorithm(), MODEL, FEDERATION, rounds=10, seed=1, adversary=crew(rounds=chosen))


@pytest.mark.parametrize("missing", ["users", "knowledge", "needs_all_rows", "rounds", "per_cohort"])
def test_an_adversary_that_leaves_out_an_answer_is_refused_in_words(missing: str) -> None:
    """Without its rounds it was tried in the first alone, without its number in a cohort in no sampler."""

    class Silent(Tamperer):
        def __getattribute__(self, name: str) -> Any:
            if name == missing:
                raise AttributeError(f"no {name}", name=name, obj=self)
            return super().__getattribute__(name)

    adversary = Silent({1}, lambda user, update: update)
    with pytest.raises(InvalidType, match=rf"{missing} must be declared by Silent, got nothing"):
        fedward.rounds(tiny_algorithm(), MODEL, FEDERATION, rounds=2, seed=1, adversary=adversary)
