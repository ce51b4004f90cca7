"""Many trainings that an auditor watches, round by round and side by side, through the real loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fedward.core.algorithm import Algorithm
from fedward.core.receive import receive
from fedward.core.roster import Roster
from fedward.core.round import finish_round, plan_round
from fedward.core.train import reserve
from fedward.core.types import Job, Plan, RoundLog, Row, ServerState

DRAW = "a0d1"
"""The draw of all watched trainings: they share no number with those that are released."""


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """One of two neighbouring federations, with what the experiment file makes of it."""

    algorithm: Algorithm
    roster: Roster
    parameters: Tensor


class Stage(Protocol):
    """Two worlds that differ in a canary, who sends what in them, and what is seen of a round."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of what is seen in a round, one number each; the canary's direction comes first."""

    @property
    def columns(self) -> int:
        """Of how many rounds something is seen: all of them, or 1 where only the last model is."""

    def world(self, inside: bool) -> World: ...

    def rows(self, inside: Sequence[bool], plans: Sequence[Plan]) -> Iterator[Iterable[Row]]:
        """What the users of each plan send, in its order."""

    def look(
        self, inside: bool, plan: Plan, rows: list[Row], log: RoundLog, after: ServerState, start: World
    ) -> Sequence[float] | None:
        """What is seen of a round, one number for each table; None if nothing is."""


def watch(
    stage: Stage, inside: Sequence[bool], first: int, rounds: int, seed: int
) -> Iterator[dict[str, NDArray[np.float64]] | None]:
    """Trains so many side by side; yields None after every round of all of them, and at last what was seen.

    Args:
      inside: whether the canary is in each of them.
      first: the replica of the first; the others follow.
    """
    worlds = [stage.world(each) for each in inside]
    states = [
        world.algorithm.init(world.parameters, first + number, world.roster.num_users, DRAW)
        for number, world in enumerate(worlds)
    ]
    seen = np.zeros((len(stage.tables), len(inside), stage.columns))
    for t in range(rounds):
        plans = [
            plan_round(world.algorithm, state, world.roster, None, seed)
            for world, state in zip(worlds, states, strict=True)
        ]
        for number, sent in enumerate(stage.rows(inside, plans)):
            world, plan, rows = worlds[number], plans[number], list(sent)
            reserved = reserve(world.algorithm, states[number], plan)
            received = receive(world.algorithm, reserved, plan, rows, seed)
            states[number], log = finish_round(world.algorithm, reserved, plan, received, seed)
            found = stage.look(inside[number], plan, rows, log, states[number], world)
            if found is not None:
                seen[:, number, t if stage.columns > 1 else 0] = found
        yield None
    yield dict(zip(stage.tables, seen, strict=True))


def sent_by(jobs: Iterable[Job], rows: dict[int, Tensor | None], nothing: Tensor) -> Iterator[Row]:
    """The rows of a cohort in which some users send something, and the others zeros."""
    for job in jobs:
        yield Row(job.user, rows.get(job.user, nothing))
