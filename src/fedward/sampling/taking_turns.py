"""Users in fixed groups that take turns: whoever is there, never more often than a schema says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fedward.base.validate import InvalidValue, rate, whole
from fedward.privacy.accounting_events import DpEvent, PoissonSampledDpEvent
from fedward.privacy.events import Adjacency
from fedward.privacy.participation import Participation
from fedward.sampling.cohort import Cohort


@dataclass(frozen=True, kw_only=True)
class TakingTurns:
    """Group g of b takes part in the rounds g, g + b, g + 2b, ..., so each user at most once in b rounds.

    User u belongs to group u mod b: fixed, public, and the same whoever else joins. After r turns a user is
    never asked again.

    Guarantee: the schema of participation, whatever users do. With ``secret`` off nothing rests on who is
    there: a share ``there`` of a group is simulated, and the server may let in whoever is online. With it on
    the server draws every user of the group with that probability and keeps the cohort to itself.

    Args:
      separation: b: how many groups there are.
      most: r: how often a user takes part at most.
      there: the probability with which a user of the group takes part.
      secret: whether that is a secret coin of the server.

    >>> turns = TakingTurns(separation=3, most=2)
    >>> [turns.at_round(t).draw(7, np.random.default_rng(0)).tolist() for t in (0, 1, 5, 6)]
    [[0, 3, 6], [1, 4], [2, 5], []]

    Choquette-Choo et al. 2023, sections 4 and 5.
    """

    separation: int
    most: int
    there: float = 1.0
    secret: bool = False
    round: int = 0

    adjacency: ClassVar[Adjacency] = "add/remove"
    exact = False
    declares_size = False
    staged = None

    def __post_init__(self) -> None:
        whole("separation", self.separation)
        whole("participations", self.most)
        rate("share of a group that is there", self.there)
        whole("round", self.round, at_least=0)

    def __str__(self) -> str:
        return f"{self.separation} groups that take turns, {self.participation}"

    @property
    def participation(self) -> Participation:
        return Participation(most=self.most, separation=self.separation)

    def at_round(self, round: int) -> TakingTurns:
        return replace(self, round=round)

    def check(self, num_users: int) -> None:
        if self.separation > whole("number of users", num_users):
            raise InvalidValue(
                f"separation must be at most the number of users, {num_users}, or rounds have nobody, got "
                f"{self.separation}"
            )

    def expected_size(self, num_users: int) -> float:
        return self.there * num_users / self.separation

    def draw(self, num_users: int, rng: np.random.Generator) -> Cohort:
        if self.round // self.separation >= self.most:
            return np.zeros(0, dtype=np.int64)
        group = np.arange(self.round % self.separation, num_users, self.separation, dtype=np.int64)
        return group if self.there == 1 else group[rng.random(len(group)) < self.there]

    def amplify(self, event: DpEvent, num_users: int) -> DpEvent:
        return PoissonSampledDpEvent(self.there, event) if self.secret and self.there < 1 else event
