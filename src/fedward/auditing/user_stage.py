"""The stage for claims about what users do themselves: one example, or one user's data, that shows most."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from fedward.auditing.always_drawn import AlwaysDrawn
from fedward.auditing.level_model import level_directions
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.shown_server import ShownServer, shown_mean
from fedward.auditing.watched_rounds import World
from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.core.types import Backend, Job, Plan, RoundLog, Row, ServerState
from fedward.local.dp_sgd import DPSGD
from fedward.local.noisy_gradient import NoisyGradient

WATCHED = 1
"""How many other users' rows are compared with the canary's: noise that two users share shows there."""


@dataclass(frozen=True, eq=False, kw_only=True)
class UserStage:
    """A canary in the data of the last user, which trains as ever: on it, or without it.

    Models are ``level_model``: the gradient of an example is the same in every round. What is seen is the row
    of the canary's user, beside those of some others, where each user's own noise protects it; the mean,
    where the noise of a whole cohort does. The user is in every cohort: nothing is gained from the drawing of
    users.

    Args:
      having, lacking: the two worlds, as the experiment file makes them.
      data: the examples of each.
      backends: that train in each.
      rounds: of a training.
    """

    having: World
    lacking: World
    data: tuple[Federation, Federation]
    backends: tuple[Backend, Backend]
    last_only: bool
    rounds: int

    def __post_init__(self) -> None:
        if self.having.algorithm.accounting == "server":
            raise InvalidValue("this stage is for users that protect themselves")

    @property
    def canary(self) -> int:
        """The last user."""
        return self.having.roster.num_users - 1

    @property
    def _rows_are_seen(self) -> bool:
        return self.having.algorithm.accounting == "users" and not self.last_only

    @property
    def _others(self) -> tuple[int, ...]:
        if not self._rows_are_seen:
            return ()
        return tuple(range(max(0, self.canary - WATCHED), self.canary))

    @property
    def tables(self) -> tuple[str, ...]:
        compared = tuple(f"difference to user {user}" for user in self._others)
        return ("direction of the canary", *compared)

    @property
    def columns(self) -> int:
        return 1 if self.last_only else self.rounds

    @cached_property
    def _shown(self) -> dict[bool, World]:
        found = {}
        for inside, world in ((True, self.having), (False, self.lacking)):
            algorithm = world.algorithm
            always = (*self._others, self.canary)
            found[inside] = replace(
                world,
                algorithm=replace(
                    algorithm,
                    server=ShownServer(server=algorithm.server),
                    sampler=AlwaysDrawn(sampler=algorithm.sampler, users=always),
                ),
            )
        return found

    def world(self, inside: bool) -> World:
        return self._shown[inside]

    def rows(self, inside: Sequence[bool], plans: Sequence[Plan]) -> Iterator[Iterable[Row]]:
        """The rows of each cohort; users that nobody looks at send nothing."""
        wanted = {*self._others, self.canary} if self._rows_are_seen else None
        trained: dict[bool, Iterator[Row]] = {}
        for there, backend in ((True, self.backends[0]), (False, self.backends[1])):
            jobs = [
                job
                for side, plan in zip(inside, plans, strict=True)
                for job in plan.jobs
                if side == there and (wanted is None or job.user in wanted)
            ]
            trained[there] = iter(backend.train(tuple(jobs)))
        for there, plan in zip(inside, plans, strict=True):
            yield [
                next(trained[there])
                if wanted is None or job.user in wanted
                else Row(job.user, torch.zeros_like(job.parameters))
                for job in plan.jobs
            ]

    def look(
        self, inside: bool, plan: Plan, rows: list[Row], log: RoundLog, after: ServerState, start: World
    ) -> Sequence[float] | None:
        """The canary's direction, in units of what the canary adds, and what other users have there."""
        if self.last_only and plan.round < self.rounds - 1:
            return None
        job = next(job for job in plan.jobs if job.user == self.canary)
        unit = canary_length(job)
        if self._rows_are_seen:
            along = {
                row.user: self._along(row.update, unit)
                for row in rows
                if row.user in (*self._others, self.canary)
            }
            own = along[self.canary]
            return (own, *(own - along[user] for user in self._others))
        share = 1.0 / (start.algorithm.aggregator.divisor or len(plan.jobs))
        moved = after.parameters - start.parameters if self.last_only else shown_mean(after.server)
        return (self._along(moved, unit * share),)

    def _along(self, vector: Tensor, unit: float) -> float:
        return float(vector.to(torch.float64) @ self._direction) / unit

    @cached_property
    def _direction(self) -> Tensor:
        features = len(self.having.parameters) // 2
        return level_directions(features)[0]

    @property
    def laws(self) -> tuple[RoundLaw, ...]:
        """What the claimed events say of each column of the first table; empty where they do not."""
        algorithm = self.having.algorithm
        if self.last_only or not isinstance(algorithm.local, DPSGD | NoisyGradient):
            return ()
        apart = 2.0 if algorithm.adjacency == "local" or algorithm.protector.adjacency == "local" else 1.0
        event = algorithm.user_event if algorithm.accounting == "users" else self._cohort_event
        laws = [RoundLaw.of(event(t), apart=apart) for t in range(self.rounds)]
        known = tuple(law for law in laws if law is not None)
        return known if len(known) == len(laws) else ()

    def _cohort_event(self, round: int) -> object:
        return self.having.algorithm.round_event(self.having.roster.num_users, round)


def canary_length(job: Job) -> float:
    """How far one step on the canary moves its user, without noise: η C / B, or η C."""
    trainer = job.trainer
    if isinstance(trainer, DPSGD) and trainer.clip_bound is not None:
        return trainer.learning_rate * trainer.clip_bound / trainer.expected_batch
    if isinstance(trainer, NoisyGradient) and trainer.clip_bound is not None:
        return trainer.learning_rate * trainer.clip_bound
    return 1.0 / math.sqrt(max(1, job.num_examples))
