"""The rows of a round as the server takes them: tampered with, measured, clipped and added up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from fedward.base.randomness import stream
from fedward.base.validate import InvalidValue
from fedward.core.algorithm import Algorithm
from fedward.core.check_rounds import checked_bounds
from fedward.core.grid import Grid
from fedward.core.plain import as_plain_or_none, plain_number
from fedward.core.types import Bounds, Job, Memory, Plan, Row, ServerState, Sight, total_bound

_Lost = Literal["dropped", "rejected"]
Outcome = Literal["taken"] | _Lost
"""The outcome of a user's row: taken, or how it got lost."""

_Sent = Tensor | _Lost
"""A row as the server has it: a plain tensor of the model's shape, or how it got lost."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Received:
    """All rows of a round, added up.

    ``total`` is the aggregator's. ``norms`` and ``outcomes`` have an entry for each user of the cohort, in
    its order; ``looked_at`` are the norms that a clip policy may pay to see. ``kept`` says why the model
    stays as it is; empty if it does not.
    """

    total: Any
    bounds: Bounds
    norms: list[Bounds]
    looked_at: list[Bounds]
    outcomes: list[tuple[int, Outcome]]
    kept: str


def receive(algorithm: Algorithm, state: ServerState, plan: Plan, rows: Iterable[Row], seed: int) -> Received:
    """Takes the rows one after the other, as they are trained.

    All of them are held only where an adversary, a clip policy or the aggregator says that it needs them all.
    """
    arrivals = _arrivals(plan, rows, state, seed)

    def measure(row: _Arrival) -> tuple[_Arrival, Bounds]:
        return row, algorithm.norm.measure(row.update)

    # By ``map``, here and below: a generator would hold its row while the next is trained.
    measured: Iterator[tuple[_Arrival, Bounds]] = map(measure, arrivals)
    if algorithm.policy.reads_norms:
        held = list(measured)
        bounds = checked_bounds(algorithm, state, [norms for _, norms in held])
        measured = iter(held)
    else:
        bounds = checked_bounds(algorithm, state, None)

    grid, aggregator = algorithm.grid(total_bound(bounds)), algorithm.aggregator
    total, taken = aggregator.init(state.parameters), 0
    norms: list[Bounds] = []
    looked_at: list[Bounds] = []
    outcomes: list[tuple[int, Outcome]] = []
    for row, row_norms in measured:
        if row.outcome == "taken" or aggregator.missing_as_zero:
            limited = _limited(algorithm, grid, row.update, row_norms, bounds)
            total = aggregator.add(total, limited, row.num_examples)
            taken += 1
            del limited
        norms.append(row_norms)
        # Where users noise their own rows, the norm before that is what a look is about.
        looked_at.append(row_norms if row.reported is None else (row.reported,))
        outcomes.append((row.user, row.outcome))
        del row
    return Received(
        total=total,
        bounds=bounds,
        norms=norms,
        looked_at=looked_at,
        outcomes=outcomes,
        kept=_why_kept(algorithm, taken, outcomes),
    )


def _limited(
    algorithm: Algorithm, grid: Grid | None, update: Tensor, norms: Bounds, bounds: Bounds
) -> Tensor:
    """The row as the aggregator may have it: clipped, and on the grid where noise is exact."""
    if algorithm.server_clips:
        update = algorithm.norm.clip(update, norms, bounds)
    return update if grid is None else grid.cut(update)


def _why_kept(algorithm: Algorithm, taken: int, outcomes: list[tuple[int, Outcome]]) -> str:
    """Why a round leaves the model as it is; empty if it does not."""
    aggregator = algorithm.aggregator
    if taken < aggregator.least_rows:
        return f"{aggregator} needs at least {aggregator.least_rows} rows, got {taken}"
    missing = sum(outcome != "taken" for _, outcome in outcomes)
    if algorithm.accounting == "aggregate" and missing:
        return f"the noise of {missing} users is missing from the sum, and the guarantee counts on it"
    return ""


@dataclass(frozen=True, eq=False)
class _Arrival:
    user: int
    num_examples: int
    reported: float | None
    update: Tensor
    outcome: Outcome


def _arrivals(plan: Plan, rows: Iterable[Row], state: ServerState, seed: int) -> Iterator[_Arrival]:
    """The rows after the adversary had its turn; what is missing or malformed has become zero."""
    reports: dict[int, float | None] = {}

    def arrival(came: tuple[Job, _Sent]) -> _Arrival:
        job, sent = came
        if isinstance(sent, Tensor) and not _finite(sent):
            sent = "rejected"
        if isinstance(sent, Tensor):
            return _Arrival(job.user, job.num_examples, _norm(reports.pop(job.user)), sent, "taken")
        return _Arrival(job.user, job.num_examples, None, torch.zeros_like(state.parameters), sent)

    return map(arrival, _sent(plan, _in_order(plan, rows, state, reports), state, seed))


def _in_order(
    plan: Plan, rows: Iterable[Row], state: ServerState, reports: dict[int, float | None]
) -> Iterator[tuple[Job, _Sent]]:
    def let_in(row: Row, job: Job | None, _: int) -> tuple[Job, _Sent]:
        if job is None:
            raise InvalidValue(f"backend must return {len(plan.jobs)} rows, one for each job, got more")
        if row.user != job.user:
            raise InvalidValue(
                f"backend must return rows in the order of the jobs, got {row.user} for {job.user}"
            )
        reports[job.user] = row.norm
        return job, _let_in(row.update, state)

    came = itertools.count()
    yield from map(let_in, rows, itertools.chain(plan.jobs, [None]), came)
    if (found := next(came)) < len(plan.jobs):
        raise InvalidValue(f"backend must return {len(plan.jobs)} rows, one for each job, got {found}")


def _let_in(sent: Any, state: ServerState) -> _Sent:
    """What was sent, as a plain tensor: nothing else of it ever comes to an adversary, a norm or a rule."""
    if sent is None:
        return "dropped"
    update = as_plain_or_none(sent, state.parameters)
    return "rejected" if update is None else update


def _sent(
    plan: Plan, trained: Iterator[tuple[Job, _Sent]], state: ServerState, seed: int
) -> Iterator[tuple[Job, _Sent]]:
    """What every user sends. Rows stream unless the adversary wants to see them all first."""
    adversary = plan.adversary
    if adversary is None:
        yield from trained
        return
    everything = None
    if adversary.needs_all_rows:
        held = list(trained)
        everything, trained = _sight(plan, held, state), iter(held)
    for job, update in trained:
        if job.user not in adversary.users or not isinstance(update, Tensor):
            yield job, update
            continue
        sight = everything or _sight(plan, [(job, update)], state)
        replica, t = state.replica, plan.round
        rng = stream(seed, "tampering", replica=replica, round=t, user=job.user, draw=state.draw)
        yield job, _let_in(adversary.tamper(job.user, update, sight, rng), state)


def _sight(plan: Plan, trained: list[tuple[Job, _Sent]], state: ServerState) -> Sight:
    """What the adversary may see of these rows. It gets copies: nobody else's row is in its reach."""
    adversary = plan.adversary
    assert adversary is not None
    users, parameters = adversary.users, state.parameters
    rows = [(job.user, row) for job, row in trained if isinstance(row, Tensor)]
    cohort, honest = None, None
    honest_users: tuple[int, ...] = ()
    memory: Memory = ()
    if adversary.knowledge == "cohort":
        cohort = tuple(plan.cohort.tolist())
        memory = tuple(each.clone() for each in state.memory)
        if adversary.needs_all_rows:
            # What the server would reject is no update.
            others = {user: row for user, row in rows if user not in users and _finite(row)}
            honest = torch.stack([*others.values()]) if others else parameters.new_zeros(0, len(parameters))
            honest_users = tuple(others)
    return Sight(
        round=plan.round,
        parameters=parameters.clone(),
        bounds=plan.bounds,
        own={user: row.clone() for user, row in rows if user in users},
        cohort=cohort,
        honest=honest,
        honest_users=honest_users,
        memory=memory,
        previous=state.previous[0].clone() if state.previous else None,
    )


def _norm(sent: float | None) -> float | None:
    """What a user says its norm was; None if that is no norm: the server then takes the row's own."""
    reported = plain_number(sent)
    return reported if reported is not None and 0 <= reported < math.inf else None


def _finite(update: Tensor) -> bool:
    # One number that is not finite makes the sum so too, and a sum is twenty times as fast; only the sum of
    # huge numbers may overflow without one.
    return math.isfinite(float(update.sum())) or bool(torch.isfinite(update).all())
