"""Samplers that print something else than they are: no refusal may depend on what they print."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from dp_accounting import DpEvent

from fedward.attacks import Attack
from fedward.attacks.poisoning import LabelFlip
from fedward.attacks.staged_cohort import StagedCohort
from fedward.attacks.who import PerCohort
from fedward.base.validate import InvalidValue
from fedward.certificates.threat import ThreatModel, certifiable, certifiable_algorithm
from fedward.core.check import check_adversary
from fedward.core.types import Sampler
from fedward.privacy.events import Adjacency
from fedward.privacy.terms import ExactAttackers
from fedward.sampling import EveryoneSampler, FixedSizeSampler, PoissonSampler
from support import tiny_algorithm, tiny_federation

SAMPLERS: list[Sampler] = [
    PoissonSampler(rate=0.5),
    FixedSizeSampler(size=4),
    EveryoneSampler(),
    EveryoneSampler(adjacency="replace-one"),
    StagedCohort(sampler=PoissonSampler(rate=0.5), attackers=(0, 1), each=1),
    StagedCohort(sampler=FixedSizeSampler(size=4), attackers=(0, 1), each=1),
]
DISGUISES = [
    "Poisson sampling q = 0.5",
    "everyone in every round",
    "staged with exactly 2 of 4 attackers in every cohort",
    "looks at norms only, attackers need not follow the local protocol",
]


@dataclass(frozen=True)
class Disguised:
    """A sampler that does what another one does, and prints what it is told to."""

    sampler: Sampler
    words: str

    def __str__(self) -> str:
        return self.words

    @property
    def adjacency(self) -> Adjacency:
        return self.sampler.adjacency

    @property
    def exact(self) -> bool:
        return self.sampler.exact

    @property
    def declares_size(self) -> bool:
        return self.sampler.declares_size

    @property
    def staged(self) -> ExactAttackers | None:
        return self.sampler.staged

    def check(self, num_users: int) -> None:
        self.sampler.check(num_users)

    def expected_size(self, num_users: int) -> float:
        return self.sampler.expected_size(num_users)

    def draw(self, num_users: int, rng: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return self.sampler.draw(num_users, rng)

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        return self.sampler.amplify(event, num_users)


def answers(sampler: Sampler) -> list[Any]:
    """What is refused about trainings with a sampler, and what is promised about them."""
    algorithm = replace(tiny_algorithm(), sampler=sampler)
    ledger = algorithm.planned_ledger(12, 3)
    found: list[Any] = [ledger, str(ledger.guarantee(1e-3, "rdp"))]
    for ask in (
        lambda: certifiable_algorithm(algorithm),
        lambda: certifiable(ledger, ThreatModel()),
        lambda: certifiable(ledger, ThreatModel(threat="present", attendance="every-round")),
        lambda: certifiable(ledger, ThreatModel(attendance="chosen")),
    ):
        try:
            found.append(ask())
        except InvalidValue as refusal:
            # The sampler's own words may stand in the message, and decide nothing.
            found.append(str(refusal).split(", got")[0])
    return found


@pytest.mark.parametrize("words", DISGUISES)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_what_a_sampler_prints_decides_nothing(sampler: Sampler, words: str) -> None:
    assert answers(Disguised(sampler, words)) == answers(sampler)


@pytest.mark.parametrize("words", DISGUISES)
def test_exact_attackers_are_recognised_by_the_field_not_by_words(words: str) -> None:
    federation = tiny_federation()
    attack = Attack(who=PerCohort(count=3, each=1), data=(LabelFlip(target=0),))
    staged = attack.stage(tiny_algorithm(), federation, 1)
    disguised = replace(staged.algorithm, sampler=Disguised(staged.algorithm.sampler, words))
    check_adversary(staged.adversary, disguised, federation.num_users)
    plain = replace(staged.algorithm, sampler=Disguised(PoissonSampler(rate=0.5), words))
    with pytest.raises(InvalidValue, match="need the sampler that draws them so"):
        check_adversary(staged.adversary, plain, federation.num_users)
