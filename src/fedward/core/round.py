"""One round as two pure functions with local training between them.

    plan = plan_round(algorithm, state, federation, adversary, seed)   # cohort, poisoned data, jobs, event
    rows = backend.train(plan.jobs)                                    # updates, in the order of the jobs
    state, log = finish_round(algorithm, state, plan, rows, seed)      # tamper, clip, aggregate, noise, step

Between the two the ledger reserves ``plan.event``: see ``fedward.core.train``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

from fedward.core.algorithm import Algorithm, total_bound
from fedward.core.federation import Federation
from fedward.core.randomness import local_seed, private_stream, stream
from fedward.core.types import Adversary, Bounds, Job, Plan, RoundLog, Row, ServerState, Telemetry
from fedward.core.validate import InvalidValue


def plan_round(
    algorithm: Algorithm, state: ServerState, federation: Federation, adversary: Adversary | None, seed: int
) -> Plan:
    """Who trains on what in the coming round, and what that costs."""
    t, replica, source = state.round, state.replica, algorithm.noise.source
    rng = private_stream(source, seed, "sampling", replica=replica, round=t)
    cohort = algorithm.sampler.draw(federation.num_users, rng)

    # A policy that reads this round's norms has no bound yet for a trainer to use.
    bounds = () if algorithm.policy.reads_norms else algorithm.bounds(state, None)
    trainer = algorithm.local.at_round(t, bounds)

    sizes = federation.sizes
    jobs = []
    for user in cohort.tolist():
        job = Job(
            parameters=state.parameters,
            user=user,
            num_examples=int(sizes[user]),
            trainer=trainer,
            seed=local_seed(seed, t, user),
        )
        if adversary is not None and user in adversary.users:
            attack = stream(seed, "poisoning", replica=replica, round=t, user=user)
            poisoned = adversary.poison(user, federation.user(user), t, attack)
            if poisoned is not None:
                job = replace(job, version=poisoned[0], examples=poisoned[1])
        jobs.append(job)
    event = algorithm.round_event(federation.num_users, t)
    return Plan(round=t, cohort=cohort, jobs=tuple(jobs), event=event, adversary=adversary)


def finish_round(
    algorithm: Algorithm, state: ServerState, plan: Plan, rows: Iterable[Row], seed: int
) -> tuple[ServerState, RoundLog]:
    """What the server makes of the rows: the next state, and a log whose ``telemetry`` no ε covers."""
    t, replica, source = plan.round, state.replica, algorithm.noise.source
    received = _receive(plan, rows, state, seed)
    measured: Iterator[tuple[_Received, Bounds]] = (
        (row, algorithm.norm.measure(row.update)) for row in received
    )
    if algorithm.policy.reads_norms:
        held = list(measured)
        bounds = algorithm.bounds(state, [norms for _, norms in held])
        measured = iter(held)
    else:
        bounds = algorithm.bounds(state, None)

    total = algorithm.aggregator.init(state.parameters)
    norms: list[Bounds] = []
    outcomes: list[tuple[int, str]] = []
    for row, row_norms in measured:
        clipped = algorithm.norm.clip(row.update, row_norms, bounds)
        total = algorithm.aggregator.add(total, clipped, row.num_examples)
        norms.append(row_norms)
        outcomes.append((row.user, row.outcome))
    mean = algorithm.aggregator.finish(total)

    # A stream from system entropy is drawn anew each time, so a resumed round does not repeat its noise.
    rng = private_stream(source, seed, "noise", replica=replica, round=t)
    noisy_mean = mean + algorithm.noise.draw(mean, algorithm.noise_std(total_bound(bounds)), rng)
    parameters, server = algorithm.server.step(state.parameters, noisy_mean, state.server)

    # Only now may the bound move: the noise above had to be scaled by the bound the rows were clipped to.
    look = private_stream(source, seed, "look", replica=replica, round=t)
    policy = algorithm.policy.move(state.policy, t, bounds, norms, look)

    telemetry = None
    if source == "seeded":
        telemetry = Telemetry(
            cohort=tuple(plan.cohort.tolist()),
            dropped=sum(outcome == "dropped" for _, outcome in outcomes),
            rejected=tuple(user for user, outcome in outcomes if outcome == "rejected"),
            norms=tuple(total_bound(row_norms) for row_norms in norms),
        )
    state = replace(
        state,
        round=t + 1,
        parameters=parameters,
        server=server,
        policy=policy,
        ledger=state.ledger.settle(t),
    )
    return state, RoundLog(round=t, bounds=bounds, telemetry=telemetry)


@dataclass(frozen=True, eq=False)
class _Received:
    user: int
    num_examples: int
    update: Tensor
    outcome: Literal["taken", "dropped", "rejected"]


def _receive(plan: Plan, rows: Iterable[Row], state: ServerState, seed: int) -> Iterator[_Received]:
    """The rows after the adversary had its turn; what is missing or malformed has become zero."""
    for job, row in zip(plan.jobs, rows, strict=True):
        if row.user != job.user:
            raise InvalidValue(
                f"backend must return rows in the order of the jobs, got {row.user} for {job.user}"
            )
        sent = row.update
        if sent is not None and plan.adversary is not None and job.user in plan.adversary.users:
            attack = stream(seed, "tampering", replica=state.replica, round=plan.round, user=job.user)
            sent = plan.adversary.tamper(job.user, sent, plan.round, attack)
        update = None if sent is None else _well_formed(sent, state.parameters)
        outcome: Literal["taken", "dropped", "rejected"] = "taken"
        if update is None:
            outcome = "dropped" if sent is None else "rejected"
            update = torch.zeros_like(state.parameters)
        yield _Received(job.user, job.num_examples, update, outcome)


def _well_formed(sent: Any, parameters: Tensor) -> Tensor | None:
    """What a user sent, as an update; None if it is not one.

    The shape must be exactly right: a row of shape (1,) would otherwise broadcast over the whole model.
    """
    if not isinstance(sent, Tensor) or sent.layout != torch.strided or sent.device != parameters.device:
        return None
    if sent.shape != parameters.shape or not sent.is_floating_point():
        return None
    update = sent.detach().to(parameters.dtype)
    return update if bool(torch.isfinite(update).all()) else None
