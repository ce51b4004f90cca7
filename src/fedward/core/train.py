"""The training loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from fedward.base.validate import InvalidValue, whole
from fedward.core.algorithm import Algorithm
from fedward.core.check import check_setup
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.poison import poison_data
from fedward.core.receive import Received, receive
from fedward.core.roster import Roster
from fedward.core.round import finish_round, plan_round
from fedward.core.types import Adversary, Backend, Journal, Plan, RoundLog, ServerState
from fedward.core.untrainable import FirstUpdates
from fedward.privacy.budget import Budget
from fedward.privacy.renewal import renew, renew_users


def train(
    algorithm: Algorithm,
    model: nn.Module,
    federation: Federation | Roster,
    backend: Backend,
    *,
    rounds: int,
    seed: int,
    replica: int = 0,
    draw: str = "",
    state: ServerState | None = None,
    adversary: Adversary | None = None,
    budget: Budget | None = None,
    journal: Journal | None = None,
) -> Iterator[tuple[ServerState, RoundLog]]:
    """Trains for ``rounds`` rounds and yields the state and log of each.

    Every yielded state is complete: training can go on from it later. With a ``budget`` it ends before the
    round that would overspend, with the model it has.

    Args:
      model: gives the initial parameters; it is not changed.
      federation: everybody's data, or, where that stays with its owners, a roster of them; without data there
        is no ``adversary`` to play.
      rounds: how many rounds the whole training has, those before ``state`` included.
      seed: of all named streams. It has no default, so that nobody trains with a seed everybody knows.
      replica: which of several trainings that differ only in sampling and noise this is.
      draw: the set of such trainings that it is one of; those of other sets share no sampling and no noise.
      state: where to go on: any state yielded before. The model's parameters, ``replica`` and ``draw`` do
        not matter then.
      adversary: users that do not follow the protocol, for instance ``Attack.stage(...).adversary``.
      budget: what may be spent; checked before each round.
      journal: makes each round's reservation durable before its jobs run.
    """
    whole("rounds", rounds)
    whole("seed", seed, at_least=0)
    roster = federation if isinstance(federation, Roster) else federation.roster
    if adversary is not None and isinstance(federation, Roster):
        raise InvalidValue("attackers are staged where their data is: a server with a roster has none")
    check_setup(algorithm, model, roster, adversary, rounds)
    spec = ParameterSpec.of(model)
    if state is None:
        state = algorithm.init(spec.flatten(model), replica, federation.num_users, draw)
    else:
        state = _check_state(state, algorithm, spec.size, federation.num_users)
    if budget is not None:
        check_budget(budget, algorithm, federation.num_users)
    return _rounds(algorithm, state, federation, backend, rounds, seed, adversary, budget, journal)


def _rounds(
    algorithm: Algorithm,
    state: ServerState,
    federation: Federation | Roster,
    backend: Backend,
    rounds: int,
    seed: int,
    adversary: Adversary | None,
    budget: Budget | None,
    journal: Journal | None,
) -> Iterator[tuple[ServerState, RoundLog]]:
    roster = federation if isinstance(federation, Roster) else federation.roster
    first = FirstUpdates(roster.num_users, over=state.round > 0)
    while state.round < rounds:
        plan = plan_round(algorithm, state, roster, adversary, seed)
        if isinstance(federation, Federation):
            plan = poison_data(plan, federation, seed)
        reserved = reserve(algorithm, state, plan)
        if budget is not None and not covers(budget, reserved, rounds):
            return
        if journal is not None:
            journal.reserve(reserved.ledger, reserved.users)
        # Nobody keeps what was received: the sum is as large as two models.
        state, log = finish_round(
            algorithm, reserved, plan, _train_users(algorithm, reserved, plan, backend, seed), seed
        )
        first.add(log)
        first.check()
        yield state, log


def _train_users(
    algorithm: Algorithm, state: ServerState, plan: Plan, backend: Backend, seed: int
) -> Received:
    """The rows of a round, added up as they are trained."""
    try:
        return receive(algorithm, state, plan, backend.train(plan.jobs), seed)
    except TrainingFailed as failure:
        raise failure.at(plan.round, state.replica) from failure


def reserve(algorithm: Algorithm, state: ServerState, plan: Plan) -> ServerState:
    """The state with the coming round reserved in every ledger that it is charged to."""
    reserved = replace(state, ledger=state.ledger.reserve(plan.round, plan.event))
    if state.users is None:
        return reserved
    event = algorithm.user_event(plan.round)
    return replace(reserved, users=state.users.reserve(plan.round, plan.cohort, event))


def renew_ledgers(state: ServerState, algorithm: Algorithm, num_users: int) -> ServerState:
    """The state with the terms of this training in ledgers that come from files of version 1."""
    state = replace(state, ledger=renew(state.ledger, algorithm.new_ledger()))
    if state.users is None or algorithm.accounting != "users":
        return state
    return replace(state, users=renew_users(state.users, algorithm.new_user_ledgers(num_users)))


def _check_state(state: ServerState, algorithm: Algorithm, size: int, num_users: int) -> ServerState:
    """The state to go on from; refuses one that another training has left."""
    state = renew_ledgers(state, algorithm, num_users)
    fresh = algorithm.new_ledger()
    if not state.ledger.terms.exact:
        # It was begun by a version that drew in floating point, and its guarantee goes on saying so.
        fresh = replace(fresh, terms=replace(fresh.terms, exact=False))
    if state.ledger.empty() != fresh:
        raise InvalidValue(
            "state must come from a training with the same sampling, noise source and guarantee"
        )
    if state.parameters.shape != (size,):
        raise InvalidValue(
            f"state must hold {size} parameters for this model, got {state.parameters.numel()}"
        )
    shapes = [tensor.shape for tensor in algorithm.mechanism.init(state.parameters)]
    if [tensor.shape for tensor in state.mechanism] != shapes:
        raise InvalidValue(f"state must hold what {algorithm.mechanism} carries from round to round")
    if algorithm.accounting != "users":
        if state.users is not None:
            raise InvalidValue("state must come from a training that the server protects, got users' ledgers")
        return state
    if state.users is None or state.users.num_users != num_users:
        raise InvalidValue(f"state must hold a ledger for each of {num_users} users")
    if state.users.about() != (wanted := algorithm.new_user_ledgers(num_users).about()):
        raise InvalidValue(
            f"state must hold ledgers of users protected by {wanted}, got {state.users.about()}"
        )
    if not state.users.looked and any(algorithm.looks(t) for t in range(state.round)):
        raise InvalidValue(
            "state must hold users' ledgers that the server's looks at norms are charged to, got one of an "
            "earlier version, which left them out; train again from the beginning"
        )
    return state


def check_budget(budget: Budget, algorithm: Algorithm, num_users: int) -> None:
    """Refuses a budget that not even the first round fits in."""
    if algorithm.accounting == "users":
        budget.check_first_round(algorithm.user_event(0), algorithm.protector.adjacency)
    else:
        budget.check_first_round(algorithm.round_event(num_users, 0), algorithm.new_ledger().adjacency)


def covers(budget: Budget, reserved: ServerState, rounds: int) -> bool:
    """Whether every ledger is within the budget with the coming round reserved.

    The budget is each user's where users protect themselves; the server's looks are in what each has spent.
    """
    if reserved.users is None:
        return budget.covers(reserved.ledger, rounds)
    return all(budget.covers(ledger, rounds) for ledger in reserved.users.largest())
