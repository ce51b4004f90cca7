"""Many trainings that go through their rounds together and run equal jobs once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from torch import nn

from fedward.base.validate import whole
from fedward.core.algorithm import Algorithm
from fedward.core.check import check_setup
from fedward.core.failure import TrainingFailed
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.core.poison import poison_data
from fedward.core.receive import receive
from fedward.core.round import finish_round, plan_round
from fedward.core.train import check_budget, covers, reserve
from fedward.core.types import Adversary, Backend, Job, Plan, RoundLog, ServerState
from fedward.core.untrainable import FirstUpdates
from fedward.lockstep.first_round import FirstRounds
from fedward.lockstep.first_rows import FirstRows, GivenRows
from fedward.lockstep.row_store import MEMORY, RowStore
from fedward.lockstep.sharing import Key, Keys, Poisoned, SharedRows
from fedward.privacy.budget import Budget


@dataclass(frozen=True, kw_only=True, eq=False)
class Training:
    """One of several trainings: what may differ between them.

    Args:
      algorithm: with its noise level, its clipping, its defence.
      rounds: how many rounds it has.
      replica: trainings with different numbers differ in sampling and noise.
      draw: and so do trainings with the same number and different draws.
      adversary: its attackers, if any.
      budget: what it may spend; it ends before the round that would overspend.
    """

    algorithm: Algorithm
    rounds: int
    replica: int = 0
    draw: str = ""
    adversary: Adversary | None = None
    budget: Budget | None = None


class Lockstep:
    """Takes trainings on one federation and one initial model through their rounds together.

    Before the first round all of them have the same parameters, so M replicas of N users need at most N user
    trainings there, not M·m, whatever their noise levels; and trainings that differ in nothing but attackers
    share all honest jobs until their models part. Rows that later rounds cannot share are not kept; those of
    the first round are, for the blocks of trainings to come, until ``forget``. Data that attackers train on
    is held once, however many replicas they attack.

    Guarantee: every training comes to the same bits as by itself.

    Args:
      model: gives the initial parameters; it is not changed.
      federation: of all trainings.
      backend: runs the jobs.
      seed: of all named streams.
      deduplicate: whether equal jobs run once; off, each is run for itself, for comparison.
      memory: bytes of rows to keep in memory for other trainings; what is more goes to temporary files.
      given: rows of the first round that were trained before, by the names of ``first_jobs``.

    >>> import fedward
    >>> federation = fedward.datasets.digits.load(users=4, seed=0)
    >>> model = fedward.models.build("logistic_regression", input_shape=(1, 8, 8), num_classes=10, seed=0)
    >>> algorithm = fedward.presets.user_dp_fedavg(
    ...     num_users=4, sampler=fedward.PoissonSampler(rate=0.5), clip_bound=1.0, noise_multiplier=1.0,
    ...     local=fedward.SGD(learning_rate=0.1, batch_size=50, epochs=1),
    ... )
    >>> together = Lockstep(model, federation, fedward.InProcess(model, federation), seed=0)
    >>> trainings = [Training(algorithm=algorithm, rounds=1, replica=r) for r in range(20)]
    >>> states = [state for state, _ in together.round(trainings, together.start(trainings))]
    >>> together.asked > 20, together.run
    (True, 4)
    """

    def __init__(
        self,
        model: nn.Module,
        federation: Federation,
        backend: Backend,
        *,
        seed: int,
        deduplicate: bool = True,
        memory: int = MEMORY,
        given: GivenRows | None = None,
    ) -> None:
        self._seed = whole("seed", seed, at_least=0)
        self._model, self._federation, self._backend = model, federation, backend
        self._roster = federation.roster
        self._deduplicate = deduplicate
        self._first_rows = FirstRows(RowStore(memory), given)
        self._first = FirstRounds()
        self._poisoned = Poisoned()
        # With the algorithms themselves, so that no other one gets their identity.
        self._first_updates: dict[int, tuple[Algorithm, FirstUpdates]] = {}
        # Kinds of trainings that were checked, with what they are known by.
        self._checked: dict[tuple[int, int, int], tuple[Algorithm, Adversary | None]] = {}
        self.asked = 0
        self.run = 0

    def start(self, trainings: Sequence[Training]) -> list[ServerState]:
        """Checks the trainings, as ``train`` does, and gives their states before the first round."""
        for training in trainings:
            whole("rounds", training.rounds)
            # Replicas differ in their number alone: each kind of training is checked once.
            kind = id(training.algorithm), id(training.adversary), training.rounds
            if kind not in self._checked:
                check_setup(
                    training.algorithm, self._model, self._roster, training.adversary, training.rounds
                )
                self._checked[kind] = training.algorithm, training.adversary
            if training.budget is not None:
                check_budget(training.budget, training.algorithm, self._roster.num_users)
        parameters = ParameterSpec.of(self._model).flatten(self._model)
        users = self._roster.num_users
        return [
            training.algorithm.init(parameters, training.replica, users, training.draw)
            for training in trainings
        ]

    def round(
        self, trainings: Sequence[Training], states: Sequence[ServerState]
    ) -> Iterator[tuple[ServerState, RoundLog | None]]:
        """The next round of each training, one after the other.

        A training that has had all its rounds, or whose budget does not afford the next one, comes back as
        it was, with None for its log.
        """
        plans = self._plans(trainings, states)
        shared: list[bool] = []
        seen: set[int] = set()
        for plan, _ in plans:
            # The rows of such a plan come with the first training that has it.
            same = -1 if plan is None else self._first.same_rows(plan)
            shared.append(plan is not None and (same in seen or self._first.has(plan)))
            seen.add(same)
        watched = [self._watched(training, state) for training, state in zip(trainings, states, strict=True)]
        jobs = [
            () if plan is None or known else plan.jobs for (plan, _), known in zip(plans, shared, strict=True)
        ]
        self.asked += sum(
            len(plan.jobs)
            for (plan, _), known in zip(plans, shared, strict=True)
            if plan is not None and known
        )
        rows = self._train(jobs, first=all(state.round == 0 for state in states))
        for number, (training, (plan, state)) in enumerate(zip(trainings, plans, strict=True)):
            if plan is None:
                yield state, None
                continue
            try:
                taken = partial(receive, training.algorithm, state, plan, rows.of(number), self._seed)
                received = self._first.received(plan, taken)
            except TrainingFailed as failure:
                raise failure.at(plan.round, state.replica) from failure
            state, log = finish_round(training.algorithm, state, plan, received, self._seed)
            watched[number].add(log)
            yield state, log
        # Some cohort of many holds nobody but the one user whose updates are never finite.
        for updates in watched:
            updates.check()

    def first_jobs(self, trainings: Sequence[Training]) -> Iterator[list[tuple[Key, Job]]]:
        """The jobs of each training's first round that others could share, each with its name."""
        keys = Keys(poisoned=self._poisoned)
        for plan, _ in self._plans(trainings, self.start(trainings)):
            named = [] if plan is None else [(keys.of(job), job) for job in plan.jobs]
            yield [(name, job) for name, job in named if isinstance(name, tuple)]

    def _plans(
        self, trainings: Sequence[Training], states: Sequence[ServerState]
    ) -> list[tuple[Plan | None, ServerState]]:
        """Each training's next round, and its state with what that costs; None where there is none."""
        self._poisoned.next_round()
        self._first.next_call()
        plans: list[tuple[Plan | None, ServerState]] = []
        for training, state in zip(trainings, states, strict=True):
            plan, reserved = None, state
            if state.round < training.rounds:
                plan = self._plan(training, state)
                reserved = reserve(training.algorithm, state, plan)
                if training.budget is not None and not covers(training.budget, reserved, training.rounds):
                    plan, reserved = None, state
            if plan is not None and plan.adversary is not None:
                plan = poison_data(plan, self._federation, self._seed)
                plan = replace(plan, jobs=tuple(map(self._poisoned.of, plan.jobs)))
            plans.append((plan, reserved))
        return plans

    def _plan(self, training: Training, state: ServerState) -> Plan:
        make = self._first.plan if self._deduplicate else plan_round
        return make(training.algorithm, state, self._roster, training.adversary, self._seed)

    def _train(self, jobs: Sequence[Sequence[Job]], *, first: bool) -> SharedRows:
        """The rows of all jobs; each runs when its row is taken, unless an equal one has run."""
        rows = SharedRows(
            self._backend,
            jobs,
            Keys(distinct=not self._deduplicate, poisoned=self._poisoned),
            held=RowStore(self._first_rows.free),
            kept=self._first_rows if first and self._deduplicate else None,
            arrived=self._count,
        )
        self.asked += rows.asked
        return rows

    def _count(self) -> None:
        self.run += 1

    def _watched(self, training: Training, state: ServerState) -> FirstUpdates:
        """One for each algorithm: another one's learning rate may be too high."""
        new = FirstUpdates(self._roster.num_users, over=state.round > 0)
        return self._first_updates.setdefault(id(training.algorithm), (training.algorithm, new))[1]

    def forget(self) -> None:
        """Drops the rows of the first round: no more trainings will start."""
        self._first_rows.clear()
        self._first.clear()
