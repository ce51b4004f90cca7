"""The stage for claims about users that the server protects: one user sends as much as it can."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor

from fedward.auditing.banded_view import BandedView
from fedward.auditing.canary_direction import LOUD, Directions, length_beside
from fedward.auditing.look_law import ShownLook, shown_log_ratio
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.shown_server import ShownServer, shown_mean
from fedward.auditing.training_scores import LOOKS
from fedward.auditing.watched_rounds import World, sent_by
from fedward.base.validate import InvalidValue
from fedward.clipping import FixedBound
from fedward.core.types import Plan, RoundLog, Row, ServerState, total_bound
from fedward.privacy.events import fold
from fedward.server import ServerStep

Company = Literal["quiet", "opposing"]
"""The others: they send nothing, or all of them as much as they can against the canary."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerStage:
    """A canary user that is in or out; the server clips, adds up and makes noise as ever.

    The guarantee is about any data and any local training, so no user trains here: each sends what shows
    most. The canary sends ten times the clip bound, in a fixed direction. Where one user is exchanged for
    another the other one sends the opposite.

    Args:
      having, lacking: the two worlds, as the experiment file makes them.
      company: what the others send.
      last_only: whether only the last model is seen.
      rounds: of a training.
    """

    having: World
    lacking: World
    company: Company
    last_only: bool
    rounds: int
    seed: int

    def __post_init__(self) -> None:
        if self.having.algorithm.accounting != "server":
            raise InvalidValue("this stage is for users that the server protects")

    @property
    def canary(self) -> int:
        """The last user."""
        return self.having.roster.num_users - 1

    @property
    def tables(self) -> tuple[str, ...]:
        seen = ("direction of the canary", "level of noise")
        if self.last_only:
            return seen
        return (*seen, "clip bound", LOOKS) if self._looks_are_shown else (*seen, "clip bound")

    @property
    def _looks_are_shown(self) -> bool:
        """Whether it is known what the clip bounds say about the canary."""
        algorithm = self.having.algorithm
        return (
            not self.last_only
            and self.company == "quiet"
            and not self._exchanged
            and isinstance(algorithm.policy, ShownLook)
            and any(algorithm.looks(t) for t in range(self.rounds))
        )

    @property
    def columns(self) -> int:
        return 1 if self.last_only else self.rounds

    @cached_property
    def _worlds(self) -> dict[bool, World]:
        return {
            inside: replace(
                world, algorithm=replace(world.algorithm, server=ShownServer(server=world.algorithm.server))
            )
            for inside, world in ((True, self.having), (False, self.lacking))
        }

    def world(self, inside: bool) -> World:
        return self._worlds[inside]

    @cached_property
    def _directions(self) -> Directions:
        algorithm = self.having.algorithm
        return Directions.draw(algorithm.norm, len(self.having.parameters), 1, self.seed)

    def rows(self, inside: Sequence[bool], plans: Sequence[Plan]) -> Iterator[Iterable[Row]]:
        """What each of a cohort sends."""
        parameters = self.having.parameters
        nothing = torch.zeros_like(parameters)
        for there, plan in zip(inside, plans, strict=True):
            loud = (LOUD * self._directions.clipped(0, plan.bounds)).to(parameters.dtype)
            rows: dict[int, Tensor | None] = {}
            if self.company == "opposing":
                rows = {job.user: -loud for job in plan.jobs}
            # A row that does not come counts as zero.
            rows[self.canary] = loud if there else (-loud if self._exchanged else None)
            yield sent_by(plan.jobs, rows, nothing)

    @property
    def _exchanged(self) -> bool:
        return self.having.algorithm.adjacency == "replace-one"

    def look(
        self, inside: bool, plan: Plan, rows: list[Row], log: RoundLog, after: ServerState, start: World
    ) -> Sequence[float] | None:
        """The canary's direction and the noise beside it, in units of what it adds; the next bound."""
        algorithm = start.algorithm
        unit = algorithm.sensitivity(total_bound(log.bounds))
        if not self.last_only:
            mean = shown_mean(after.server)
            bounds = () if algorithm.policy.reads_norms else algorithm.bounds(after, None)
            bound = total_bound(bounds) if bounds else unit.row
            found = (*self._along(mean, log, self._share), math.log(bound))
            return (*found, self._shown(plan.round, unit.row, bound)) if self._looks_are_shown else found
        if plan.round < self.rounds - 1:
            return None
        moved = (after.parameters - start.parameters).to(torch.float64)
        return self._along(moved, log, self._share)

    def _shown(self, round: int, before: float, after: float) -> float:
        """What the next clip bound says about the canary."""
        algorithm, users = self.having.algorithm, self.having.roster.num_users
        looks, law = algorithm.looks(round), self._law(round)
        if not looks or law is None:
            return 0.0
        return shown_log_ratio(algorithm.policy, fold(*looks), users - 1, law.rate, before, after)

    @property
    def _share(self) -> float:
        # One unit for both worlds: a divisor that moves has to show.
        share = self.lacking.algorithm.aggregator.sensitivity(1.0, "add/remove")
        assert share is not None  # noise needs one
        return share

    def _along(self, vector: Tensor, log: RoundLog, share: float) -> tuple[float, float]:
        direction = self._directions.clipped(0, log.bounds)
        beside = length_beside(vector, direction) / math.sqrt(max(1, len(vector) - 1))
        (along,) = self._directions.along(vector, log.bounds, share)
        return float(along), math.log(beside / (share * total_bound(log.bounds)) + 1e-12)

    @property
    def banded(self) -> BandedView | None:
        """What rounds show that share noise; None where they do not, or where nothing is known about them."""
        if self.company != "quiet" or self.last_only:
            return None
        return BandedView.of(self.having.algorithm, self.canary, self.rounds)

    @property
    def laws(self) -> tuple[RoundLaw, ...]:
        """What the claimed events say of each column of the first table; empty where they do not."""
        algorithm = self.having.algorithm
        if self.company != "quiet":
            return ()
        laws = [self._law(t) for t in range(self.rounds)]
        known = tuple(law for law in laws if law is not None)
        if len(known) < len(laws):
            return ()
        if not self.last_only:
            return known
        # Only plain steps under one bound add up to something whose law is known.
        plain = (
            algorithm.server == ServerStep()
            and isinstance(algorithm.policy, FixedBound)
            and len(set(known)) == 1
        )
        return (known[0].repeated(self.rounds),) if plain else ()

    def _law(self, round: int) -> RoundLaw | None:
        algorithm = self.having.algorithm
        event = algorithm.round_event(self.having.roster.num_users, round)
        law = RoundLaw.of(event, apart=2.0 if self._exchanged else 1.0)
        looks = algorithm.looks(round)
        return replace(law, look=fold(*looks)) if law and looks and self._looks_are_shown else law
