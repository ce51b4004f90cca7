"""Many canaries in one training, each in by a coin of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.inference.auc import Floats
from fedward.auditing.always_drawn import AlwaysDrawn
from fedward.auditing.canary_direction import LOUD, Directions
from fedward.auditing.level_model import level_directions
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.shown_server import ShownServer, shown_mean
from fedward.auditing.user_stage import canary_length
from fedward.auditing.watched_rounds import World
from fedward.base.randomness import stream
from fedward.core.types import Backend, Job, Plan, RoundLog, Row, ServerState, total_bound

Coins = np.ndarray[tuple[int], np.dtype[np.bool_]]


def toss(canaries: int, seed: int) -> Coins:
    """Whether each canary is in."""
    tossed: Coins = stream(seed, "canary", replica=0).random(canaries) < 0.5
    return tossed


class Crowd(Protocol):
    """One world with canaries, some of them in; who sends what there, and what is seen of each canary."""

    @property
    def inside(self) -> Coins: ...

    @property
    def laws(self) -> tuple[RoundLaw, ...]: ...

    @property
    def world(self) -> World: ...

    def rows(self, plan: Plan) -> Iterable[Row]: ...

    def look(self, plan: Plan, rows: Sequence[Row], log: RoundLog, after: ServerState) -> Floats:
        """How many of its contributions lie in each canary's direction."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ServerCrowd:
    """Canary users beside real ones, which train as ever; each sends as much as it can in its own direction.

    Args:
      around: the world that the experiment file makes of the real users and the canaries after them.
      inside: whether each canary is in.
      real: how many users are real.
      gone: whether canaries that are out are no users at all; otherwise nothing comes from them.
      backend: trains the real ones.
      rounds, seed: of the training.
    """

    around: World
    inside: Coins
    real: int
    gone: bool
    backend: Backend
    rounds: int
    seed: int

    @cached_property
    def world(self) -> World:
        algorithm = self.around.algorithm
        return replace(self.around, algorithm=replace(algorithm, server=ShownServer(server=algorithm.server)))

    @cached_property
    def _directions(self) -> Directions:
        size = len(self.around.parameters)
        return Directions.draw(self.around.algorithm.norm, size, len(self.inside), self.seed)

    @cached_property
    def _canaries(self) -> dict[int, int]:
        """The number of the canary that each user after the real ones is."""
        there = np.flatnonzero(self.inside).tolist() if self.gone else list(range(len(self.inside)))
        return {self.real + place: number for place, number in enumerate(there)}

    def rows(self, plan: Plan) -> Iterator[Row]:
        """What each of a cohort sends."""
        trained = iter(self.backend.train(tuple(job for job in plan.jobs if job.user < self.real)))
        for job in plan.jobs:
            if job.user < self.real:
                yield next(trained)
                continue
            number = self._canaries[job.user]
            loud = LOUD * self._directions.clipped(number, plan.bounds)
            yield Row(job.user, loud.to(self.around.parameters.dtype) if self.inside[number] else None)

    def look(self, plan: Plan, rows: Sequence[Row], log: RoundLog, after: ServerState) -> Floats:
        share = self.around.algorithm.sensitivity(total_bound(log.bounds)).share
        return self._directions.along(shown_mean(after.server), log.bounds, share)

    @property
    def laws(self) -> tuple[RoundLaw, ...]:
        algorithm, users = self.around.algorithm, self.around.roster.num_users
        return _known([algorithm.round_event(users, t) for t in range(self.rounds)], 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class UserCrowd:
    """Users that protect themselves, the first of whom have a canary each in their data, or not.

    Args:
      around: the world that the experiment file makes of their data.
      inside: whether each canary is in.
      backend: trains them.
      rounds: of the training.
    """

    around: World
    inside: Coins
    backend: Backend
    rounds: int

    @cached_property
    def world(self) -> World:
        algorithm = self.around.algorithm
        if algorithm.accounting == "users":  # nothing is gained from the drawing of users
            everyone = tuple(range(self.around.roster.num_users))
            algorithm = replace(algorithm, sampler=AlwaysDrawn(sampler=algorithm.sampler, users=everyone))
        return replace(self.around, algorithm=replace(algorithm, server=ShownServer(server=algorithm.server)))

    @cached_property
    def _directions(self) -> Tensor:
        return level_directions(len(self.around.parameters) // 2)

    def rows(self, plan: Plan) -> Iterator[Row]:
        """What each of a cohort sends."""
        return iter(self.backend.train(plan.jobs))

    def look(self, plan: Plan, rows: Sequence[Row], log: RoundLog, after: ServerState) -> Floats:
        jobs: dict[int, Job] = {job.user: job for job in plan.jobs}
        unit = canary_length(plan.jobs[0]) if plan.jobs else 1.0
        if self.around.algorithm.accounting != "users":
            share = 1.0 / (self.around.algorithm.aggregator.divisor or max(1, len(plan.jobs)))
            mean = self._directions @ shown_mean(after.server)
            found: Floats = mean[: len(self.inside)].numpy() / (unit * share)
            return found
        seen = np.zeros(len(self.inside))
        for row in rows:
            if row.user < len(seen) and row.update is not None:
                along = float(row.update.to(torch.float64) @ self._directions[row.user])
                seen[row.user] = along / canary_length(jobs[row.user])
        return seen

    @property
    def laws(self) -> tuple[RoundLaw, ...]:
        algorithm = self.around.algorithm
        apart = 2.0 if algorithm.protector.adjacency == "local" else 1.0
        if algorithm.accounting == "users":
            return _known([algorithm.user_event(t) for t in range(self.rounds)], apart)
        users = self.around.roster.num_users
        return _known([algorithm.round_event(users, t) for t in range(self.rounds)], apart)


def _known(events: Sequence[object], apart: float) -> tuple[RoundLaw, ...]:
    laws = [RoundLaw.of(event, apart=apart) for event in events]
    known = tuple(law for law in laws if law is not None)
    return known if len(known) == len(laws) else ()
