from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

import fedward
from core.self_protected import insdp
from fedward.attacks import Attacker
from fedward.attacks.model_poisoning import ConstrainAndScale, TrainAndScale
from fedward.base.validate import InvalidType, InvalidValue
from fedward.clipping import RawMedian
from fedward.core.check import check_setup
from fedward.core.types import Bounds, LocalTrainer
from fedward.local import ProjectedSGD
from fedward.presets import bulyan, fedavg, krum
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


@pytest.mark.parametrize("how", ["the server's noise", "the users' own"])
def test_batch_normalisation_is_refused_whoever_adds_the_noise(how: str) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    algorithm = tiny_algorithm() if how == "the server's noise" else insdp()
    with pytest.raises(InvalidValue, match="layer 1 is BatchNorm1d, which is refused under differential"):
        check_setup(algorithm, model, FEDERATION.roster)


def test_batch_normalisation_is_no_error_where_nothing_is_private() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    check_setup(fedavg(sampler=EveryoneSampler(), local=tiny_sgd()), model, FEDERATION.roster)


class Scoring(torch.nn.Module):
    """Scores two classes, and does something to them that no model should."""

    def __init__(self, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.model, self.change = tiny_model(), change

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.change(self.model(x))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda scores: scores.to_sparse(), "plain tensor of floats, got float32, sparse_coo"),
        (lambda scores: scores.long(), "plain tensor of floats, got int64, strided"),
        (lambda scores: scores.to(torch.complex64), "plain tensor of floats, got complex64, strided"),
        (lambda scores: sys.exit(3), r"ends the program, SystemExit\(3\)"),
    ],
    ids=["sparse", "whole", "complex", "exit"],
)
def test_a_model_whose_output_cannot_be_trained_is_refused_before_training(
    change: Callable[[torch.Tensor], torch.Tensor], says: str
) -> None:
    with pytest.raises(InvalidValue, match=says):
        check_setup(tiny_algorithm(), Scoring(change), FEDERATION.roster)


class HoldsALock(nn.Linear):
    def __init__(self) -> None:
        super().__init__(3, 2)
        self.lock = threading.Lock()


def test_a_model_that_cannot_be_copied_is_refused_before_training() -> None:
    with pytest.raises(InvalidValue, match="HoldsALock must be a model that can be copied"):
        check_setup(tiny_algorithm(), HoldsALock(), tiny_federation().roster)
