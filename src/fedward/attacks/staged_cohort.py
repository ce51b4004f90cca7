"""Cohorts with an exact number of attackers, as Miao et al. draw them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from dp_accounting import DpEvent

from fedward.base.validate import InvalidValue, whole
from fedward.core.types import Sampler
from fedward.privacy.events import Adjacency
from fedward.privacy.sampling_words import staged_in_words
from fedward.privacy.terms import ExactAttackers
from fedward.sampling import Cohort, FixedSizeSampler, PoissonSampler


@dataclass(frozen=True, kw_only=True)
class StagedCohort:
    """Exactly P_m of the attackers in every cohort; the honest users are sampled among themselves.

    With fixed-size sampling m - P_m of the N - P honest users are drawn, so that a cohort keeps its size m;
    with Poisson sampling every honest user takes part with probability q and P_m attackers are added.

    Guarantee: for the honest users, by their own sampling (m - P_m of N - P). It is not the sampling that
    certificates are about.

    Args:
      sampler: what the server declares.
      attackers: the attackers, ascending.
      each: P_m.
      rounds: the rounds whose cohorts are drawn so, counted from 0; all rounds if None. In others everybody
        is drawn as the server declares.

    >>> staged = StagedCohort(sampler=FixedSizeSampler(size=4), attackers=(0, 1, 2), each=2)
    >>> staged.draw(10, np.random.default_rng(0)).tolist()
    [1, 2, 4, 5]

    Miao et al., section 3.1.
    """

    sampler: Sampler
    attackers: tuple[int, ...]
    each: int
    rounds: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        whole("attackers in every cohort", self.each, at_least=0)
        if not isinstance(self.sampler, FixedSizeSampler | PoissonSampler):
            raise InvalidValue(
                f"attackers in every cohort need fixed-size or Poisson sampling, got {self.sampler}"
            )
        if self.each > len(self.attackers):
            raise InvalidValue(
                "attackers in every cohort must be at most the number of attackers, "
                f"{len(self.attackers)}, got {self.each}"
            )

    def __str__(self) -> str:
        return f"{self.sampler}, {staged_in_words(self.staged)}"

    @property
    def staged(self) -> ExactAttackers:
        return ExactAttackers(
            each=self.each, attackers=len(self.attackers), attacked_rounds_only=self.rounds is not None
        )

    @property
    def declares_size(self) -> bool:
        return self.sampler.declares_size

    @property
    def adjacency(self) -> Adjacency:
        return self.sampler.adjacency

    @property
    def exact(self) -> bool:
        return self.sampler.exact

    def at_round(self, round: int) -> Sampler:
        """The sampler of a round; this one itself draws as in a round with attackers."""
        if self.rounds is None:
            return self
        return replace(self, rounds=None) if round in self.rounds else self.sampler

    def check(self, num_users: int) -> None:
        self.sampler.check(num_users)
        strangers = [user for user in self.attackers if not 0 <= user < num_users]
        if strangers:
            raise InvalidValue(f"attackers must be users from 0 to {num_users - 1}, got {strangers[0]}")
        size = self.sampler.expected_size(num_users)
        if self.each > size:
            raise InvalidValue(
                f"attackers in every cohort must be at most the size of a cohort, {size:g}, got {self.each}"
            )
        honest = num_users - len(self.attackers)
        if isinstance(self.sampler, FixedSizeSampler) and self.sampler.size - self.each > honest:
            raise InvalidValue(
                f"a cohort of {self.sampler.size} with {self.each} attackers needs "
                f"{self.sampler.size - self.each} honest users, got {honest}"
            )

    def expected_size(self, num_users: int) -> float:
        if isinstance(self.sampler, FixedSizeSampler):
            return self.sampler.expected_size(num_users)
        return self.sampler.expected_size(num_users - len(self.attackers)) + self.each

    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        self.check(num_users)
        attackers = np.array(self.attackers, dtype=np.int64)
        honest = np.setdiff1d(np.arange(num_users), attackers)
        drawn = rng.choice(attackers, size=self.each, replace=False)
        among = self._honest_sampler()
        others = honest[among.draw(len(honest), rng)] if among is not None and len(honest) else honest[:0]
        return np.sort(np.concatenate([drawn, others])).astype(np.int64)

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        # Where no honest user is ever drawn, that one of them is drawn is a safe thing to claim.
        among = self._honest_sampler() or FixedSizeSampler(size=1)
        return among.amplify(event, max(1, num_users - len(self.attackers)))

    def _honest_sampler(self) -> Sampler | None:
        if not isinstance(self.sampler, FixedSizeSampler):
            return self.sampler
        size = self.sampler.size - self.each
        return replace(self.sampler, size=size) if size > 0 else None
