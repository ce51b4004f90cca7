"""One round as two pure functions with local training between them.

    plan = plan_round(algorithm, state, roster, adversary, seed)       # cohort, jobs, event
    plan = poison_data(plan, federation, seed)                         # in simulations: the attackers' data
    rows = backend.train(plan.jobs)                                    # updates, in the order of the jobs
    state, log = finish_round(algorithm, state, plan, rows, seed)      # tamper, clip, aggregate, noise, step

Between the two the ledger reserves ``plan.event``: see ``fedward.core.train``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from fedward.base.randomness import local_seed, private_local_seed, private_stream, stream
from fedward.base.validate import InvalidValue
from fedward.core.algorithm import Algorithm, total_bound
from fedward.core.check_rounds import check_bounds
from fedward.core.plain import plain, plain_number
from fedward.core.roster import Roster
from fedward.core.types import (
    Adversary,
    Bounds,
    Job,
    Plan,
    PrivateTrainer,
    RoundLog,
    Row,
    ServerState,
    Sight,
    Telemetry,
)


def plan_round(
    algorithm: Algorithm, state: ServerState, roster: Roster, adversary: Adversary | None, seed: int
) -> Plan:
    """Who trains with what in the coming round, and what that costs."""
    t, source = state.round, algorithm.noise_source
    rng = private_stream(source, seed, "sampling", replica=state.replica, round=t, draw=state.draw)
    cohort = algorithm.sampler.draw(roster.num_users, rng)

    # A policy that reads this round's norms has no bound yet for a trainer to use.
    bounds = () if algorithm.policy.reads_norms else _bounds(algorithm, state, None)
    trainer = algorithm.local.at_round(t, bounds)
    users = zip(cohort.tolist(), roster.sizes_of(cohort), strict=True)
    jobs = tuple(
        Job(
            parameters=state.parameters,
            user=user,
            num_examples=size,
            trainer=(
                adversary.trainer(trainer, t, bounds)
                if adversary is not None and user in adversary.users
                else trainer
            ),
            seed=_user_seed(trainer, state, user, seed),
            private=isinstance(trainer, PrivateTrainer),
        )
        for user, size in users
    )
    # A round that is done again with fresh noise is another release.
    again = state.ledger.reserved is not None and source == "system"
    event = algorithm.round_event(roster.num_users, t, again=again)
    return Plan(round=t, cohort=cohort, jobs=jobs, event=event, bounds=bounds, adversary=adversary)


def finish_round(
    algorithm: Algorithm, state: ServerState, plan: Plan, rows: Iterable[Row], seed: int
) -> tuple[ServerState, RoundLog]:
    """What the server makes of the rows: the next state, and a log whose ``telemetry`` no ε covers."""
    t, replica, draw, source = plan.round, state.replica, state.draw, algorithm.noise_source
    received = _receive(plan, rows, state, seed)
    measured: Iterator[tuple[_Received, Bounds]] = (
        (row, algorithm.norm.measure(row.update)) for row in received
    )
    if algorithm.policy.reads_norms:
        held = list(measured)
        bounds = _bounds(algorithm, state, [norms for _, norms in held])
        measured = iter(held)
    else:
        bounds = _bounds(algorithm, state, None)

    aggregator = algorithm.aggregator
    total, taken = aggregator.init(state.parameters), 0
    norms: list[Bounds] = []
    looked_at: list[Bounds] = []
    outcomes: list[tuple[int, str]] = []
    for row, row_norms in measured:
        if row.outcome == "taken" or aggregator.missing_as_zero:
            update = row.update
            if algorithm.server_clips:
                update = algorithm.norm.clip(update, row_norms, bounds)
            total = aggregator.add(total, update, row.num_examples)
            taken += 1
        norms.append(row_norms)
        # Where users noise their own rows, the norm before that is what a look is about.
        looked_at.append(row_norms if row.reported is None else (row.reported,))
        outcomes.append((row.user, row.outcome))

    parameters, server, mechanism = state.parameters, state.server, state.mechanism
    kept = _why_kept(algorithm, taken, outcomes)
    if not kept:
        mean = aggregator.finish(total)
        # A stream from system entropy is drawn anew each time: a resumed round does not repeat its noise.
        rng = private_stream(source, seed, "noise", replica=replica, round=t, draw=draw)
        sensitivity = algorithm.sensitivity(total_bound(bounds))
        private, mechanism = algorithm.mechanism.privatise(mean, sensitivity, state.mechanism, rng)
        parameters, server = algorithm.server.step(state.parameters, private, state.server)

    # Only now may the bound move: the noise above had to be scaled by the bound the rows were clipped to.
    look = private_stream(source, seed, "look", replica=replica, round=t, draw=draw)
    # And no policy sees norms in a round in which it declared no look: nobody has paid for that.
    shown = looked_at if algorithm.policy.unproven or algorithm.looks(t) else []
    policy = algorithm.policy.move(state.policy, t, bounds, shown, look)

    telemetry = None
    if source == "seeded":
        telemetry = Telemetry(
            cohort=tuple(plan.cohort.tolist()),
            dropped=sum(outcome == "dropped" for _, outcome in outcomes),
            rejected=tuple(user for user, outcome in outcomes if outcome == "rejected"),
            norms=tuple(total_bound(row_norms) for row_norms in norms),
            malicious=tuple(user for user, _ in outcomes if plan.adversary and user in plan.adversary.users),
        )
    state = replace(
        state,
        round=t + 1,
        parameters=parameters,
        server=server,
        policy=policy,
        mechanism=mechanism,
        ledger=state.ledger.settle(t),
        users=state.users.settle(t) if state.users is not None else None,
    )
    return state, RoundLog(round=t, bounds=bounds, telemetry=telemetry, kept=kept)


def _user_seed(trainer: object, state: ServerState, user: int, seed: int) -> int | None:
    """The seed of a user's local training; None where the user draws DP noise that nobody else may know."""
    if not isinstance(trainer, PrivateTrainer):
        return local_seed(seed, state.round, user)
    if trainer.noise_source == "system":
        return None
    return private_local_seed(seed, state.replica, state.round, user, state.draw)


def _bounds(algorithm: Algorithm, state: ServerState, norms: list[Bounds] | None) -> Bounds:
    bounds = algorithm.bounds(state, norms)
    # What a policy makes of the norms it has seen nobody could check before: never a model without its noise.
    check_bounds(algorithm, bounds)
    return bounds


def _why_kept(algorithm: Algorithm, taken: int, outcomes: list[tuple[int, str]]) -> str:
    """Why a round leaves the model as it is; empty if it does not."""
    aggregator = algorithm.aggregator
    if taken < aggregator.least_rows:
        return f"{aggregator} needs at least {aggregator.least_rows} rows, got {taken}"
    missing = sum(outcome != "taken" for _, outcome in outcomes)
    if algorithm.accounting == "aggregate" and missing:
        return f"the noise of {missing} users is missing from the sum, and the guarantee counts on it"
    return ""


_Lost = Literal["dropped", "rejected"]
_Sent = Tensor | _Lost
"""The outcome of a user: a plain tensor of the model's shape, or how it got lost."""


@dataclass(frozen=True, eq=False)
class _Received:
    user: int
    num_examples: int
    reported: float | None
    update: Tensor
    outcome: Literal["taken"] | _Lost


def _receive(plan: Plan, rows: Iterable[Row], state: ServerState, seed: int) -> Iterator[_Received]:
    """The rows after the adversary had its turn; what is missing or malformed has become zero."""
    reports: dict[int, float | None] = {}
    for job, sent in _sent(plan, _in_order(plan, rows, state, reports), state, seed):
        if isinstance(sent, Tensor) and not _finite(sent):
            sent = "rejected"
        if isinstance(sent, Tensor):
            yield _Received(job.user, job.num_examples, _norm(reports.pop(job.user)), sent, "taken")
        else:
            yield _Received(job.user, job.num_examples, None, torch.zeros_like(state.parameters), sent)


def _in_order(
    plan: Plan, rows: Iterable[Row], state: ServerState, reports: dict[int, float | None]
) -> Iterator[tuple[Job, _Sent]]:
    for job, row in zip(plan.jobs, rows, strict=True):
        if row.user != job.user:
            raise InvalidValue(
                f"backend must return rows in the order of the jobs, got {row.user} for {job.user}"
            )
        reports[job.user] = row.norm
        yield job, _let_in(row.update, state)


def _let_in(sent: Any, state: ServerState) -> _Sent:
    """What was sent, as a plain tensor: nothing else of it ever comes to an adversary, a norm or a rule."""
    if sent is None:
        return "dropped"
    update = plain(sent, state.parameters)
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
    if adversary.knowledge == "cohort":
        cohort = tuple(plan.cohort.tolist())
        if adversary.needs_all_rows:
            # What the server would reject is no update.
            others = [row for user, row in rows if user not in users and _finite(row)]
            honest = torch.stack(others) if others else parameters.new_zeros(0, len(parameters))
    return Sight(
        round=plan.round,
        parameters=parameters.clone(),
        bounds=plan.bounds,
        own={user: row.clone() for user, row in rows if user in users},
        cohort=cohort,
        honest=honest,
    )


def _norm(sent: float | None) -> float | None:
    """What a user says its norm was; None if that is no norm: the server then takes the row's own."""
    reported = plain_number(sent)
    return reported if reported is not None and 0 <= reported < math.inf else None


def _finite(update: Tensor) -> bool:
    # One number that is not finite makes the sum so too, and a sum is twenty times as fast; only the sum of
    # huge numbers may overflow without one.
    return math.isfinite(float(update.sum())) or bool(torch.isfinite(update).all())
