"""One round: planned, trained, received and finished.

    plan = plan_round(algorithm, state, roster, adversary, seed)       # 1. cohort, jobs, event
    plan = poison_data(plan, federation, seed)                         #    in simulations: attackers' data
    rows = backend.train(plan.jobs)                                    # 2. updates, as they are trained
    received = receive(algorithm, state, plan, rows, seed)             # 3. tamper, reject, clip; 4. add up
    state, log = finish_round(algorithm, state, plan, received, seed)  # 5. noise, step, next bound

Between plan and training the ledger reserves ``plan.event``: see ``fedward.core.train``. Rows stream:
``receive`` takes one after the other from the backend, so that a mean never holds all of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from torch import Tensor

from fedward.base.randomness import (
    Source,
    from_local_seed,
    local_seed,
    private_local_seed,
    private_stream,
)
from fedward.core.adversary import compares_models
from fedward.core.algorithm import Algorithm
from fedward.core.check_rounds import checked_bounds
from fedward.core.epochs import first_of_epoch, new_coins
from fedward.core.receive import Received
from fedward.core.roster import Roster
from fedward.core.types import (
    Adversary,
    Job,
    Memory,
    Plan,
    PrivateTrainer,
    RoundLog,
    ServerState,
    Telemetry,
    Watched,
    total_bound,
)


def draw_cohort(
    algorithm: Algorithm, state: ServerState, roster: Roster, seed: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Who takes part in the coming round.

    The rounds of an epoch whose cohorts belong together are drawn from the stream of its first one.
    """
    first = first_of_epoch(algorithm.sampler, state.round)
    if state.coins and algorithm.noise_source == "system":
        rng = from_local_seed(int(state.coins, 16))
    else:
        rng = private_stream(
            algorithm.noise_source, seed, "sampling", replica=state.replica, round=first, draw=state.draw
        )
    cohort = algorithm.sampler_of(state.round).draw(roster.num_users, rng)
    root = algorithm.root_user
    return cohort if root is None else np.union1d(cohort, [root]).astype(np.int64)


def plan_round(
    algorithm: Algorithm, state: ServerState, roster: Roster, adversary: Adversary | None, seed: int
) -> Plan:
    """Who trains with what in the coming round, and what that costs."""
    t, source = state.round, algorithm.noise_source
    cohort = draw_cohort(algorithm, state, roster, seed)

    # A policy that reads this round's norms has no bound yet for a trainer to use.
    bounds = () if algorithm.policy.reads_norms else checked_bounds(algorithm, state, None)
    trainer = algorithm.local.at_round(t, bounds)
    # Where the DP noise comes from that users draw themselves; None where they draw none.
    own_noise = trainer.noise_source if isinstance(trainer, PrivateTrainer) else None
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
            seed=_user_seed(own_noise, state, user, seed),
            private=own_noise is not None,
            round=t,
        )
        for user, size in users
    )
    # A round that is done again with fresh noise is another release.
    again = state.ledger.reserved is not None and source == "system"
    event = algorithm.round_event(roster.num_users, t, again=again)
    return Plan(
        round=t,
        cohort=cohort,
        jobs=jobs,
        event=event,
        bounds=bounds,
        adversary=adversary,
        previous=state.previous[0] if state.previous else None,
    )


def finish_round(
    algorithm: Algorithm, state: ServerState, plan: Plan, received: Received, seed: int
) -> tuple[ServerState, RoundLog]:
    """What the server makes of the rows: the next state, and a log whose ``telemetry`` no ε covers."""
    t, source, bounds = plan.round, algorithm.noise_source, received.bounds
    parameters, server, mechanism = state.parameters, state.server, state.mechanism
    memory = state.memory
    if not received.kept:
        aggregate, memory = _aggregate(algorithm, state, received, seed)
        # Where nobody else has the sum of the rows, its memory is free for the noise.
        received = replace(received, total=None)
        sensitivity = algorithm.sensitivity(total_bound(bounds))
        # A stream from system entropy is drawn anew each time: a resumed round does not repeat its noise.
        rng = private_stream(source, seed, "noise", replica=state.replica, round=t, draw=state.draw)
        private, mechanism = algorithm.mechanism.privatise(aggregate, sensitivity, state.mechanism, rng)
        del aggregate
        parameters, server = algorithm.server.step(state.parameters, private, state.server)

    # Only now may the bound move: the noise above had to be scaled by the bound the rows were clipped to.
    # And no policy sees norms in a round in which it declared no look: nobody has paid for that.
    shown = received.looked_at if algorithm.policy.unproven or algorithm.looks(t) else []
    look = private_stream(source, seed, "look", replica=state.replica, round=t, draw=state.draw)
    policy = algorithm.policy.move(state.policy, t, bounds, shown, look)

    telemetry = _telemetry(plan, received) if source == "seeded" else None
    after = replace(
        state,
        round=t + 1,
        parameters=parameters,
        server=server,
        policy=policy,
        mechanism=mechanism,
        coins=state.coins if first_of_epoch(algorithm.sampler, t + 1) <= t else new_coins(algorithm),
        memory=memory,
        previous=(state.parameters,) if compares_models(plan.adversary) else (),
        ledger=state.ledger.settle(t),
        users=state.users.settle(t) if state.users is not None else None,
    )
    return after, RoundLog(round=t, bounds=bounds, telemetry=telemetry, kept=received.kept)


def _aggregate(
    algorithm: Algorithm, state: ServerState, received: Received, seed: int
) -> tuple[Tensor, Memory]:
    """The rows combined, and what the aggregator remembers of them."""
    aggregator = algorithm.watching
    if aggregator is None:
        aggregate = algorithm.aggregator.finish(received.total)
        return aggregate, state.memory
    # Outside of every guarantee: such an aggregator takes no noise, and has no ε.
    rng = private_stream(
        algorithm.noise_source, seed, "aggregation", replica=state.replica, round=state.round, draw=state.draw
    )
    came = algorithm.aggregator.missing_as_zero
    watched = Watched(
        round=state.round,
        users=tuple(user for user, outcome in received.outcomes if came or outcome == "taken"),
        parameters=state.parameters,
        memory=state.memory,
        rng=rng,
    )
    return aggregator.finish_watched(received.total, watched)


def _user_seed(own_noise: Source | None, state: ServerState, user: int, seed: int) -> int | None:
    """The seed of a user's local training; None where the user draws one that nobody else may know."""
    if own_noise is None:
        return local_seed(seed, state.round, user)
    if own_noise == "system":
        return None
    return private_local_seed(seed, state.replica, state.round, user, state.draw)


def _telemetry(plan: Plan, received: Received) -> Telemetry:
    theirs = plan.adversary.users if plan.adversary is not None else frozenset()
    return Telemetry(
        cohort=tuple(plan.cohort.tolist()),
        dropped=sum(outcome == "dropped" for _, outcome in received.outcomes),
        rejected=tuple(user for user, outcome in received.outcomes if outcome == "rejected"),
        norms=tuple(map(total_bound, received.norms)),
        malicious=tuple(user for user, _ in received.outcomes if user in theirs),
    )
