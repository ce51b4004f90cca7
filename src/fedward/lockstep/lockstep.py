"""Many trainings that go through their rounds together and run equal jobs once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
from fedward.core.types import Adversary, Backend, Plan, RoundLog, ServerState
from fedward.core.untrainable import FirstUpdates
from fedward.lockstep.row_store import MEMORY, RowStore
from fedward.lockstep.sharing import Keys, Poisoned, SharedRows
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
    ) -> None:
        self._seed = whole("seed", seed, at_least=0)
        self._model, self._federation, self._backend = model, federation, backend
        self._roster = federation.roster
        self._deduplicate = deduplicate
        self._first_rows = RowStore(memory)
        self._poisoned = Poisoned()
        # With the algorithms themselves, so that no other one gets their identity.
        self._first_updates: dict[int, tuple[Algorithm, FirstUpdates]] = {}
        self.asked = 0
        self.run = 0

    def start(self, trainings: Sequence[Training]) -> list[ServerState]:
        """Checks the trainings, as ``train`` does, and gives their states before the first round."""
        checked: set[tuple[int, int, int]] = set()
        for training in trainings:
            whole("rounds", training.rounds)
            # Replicas differ in their number alone: each kind of training is checked once.
            kind = id(training.algorithm), id(training.adversary), training.rounds
            if kind not in checked:
                checked.add(kind)
                check_setup(
                    training.algorithm, self._model, self._roster, training.adversary, training.rounds
                )
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
        self._poisoned.next_round()
        plans: list[tuple[Plan | None, ServerState]] = []
        for training, state in zip(trainings, states, strict=True):
            plan, reserved = None, state
            if state.round < training.rounds:
                plan = plan_round(training.algorithm, state, self._roster, training.adversary, self._seed)
                reserved = reserve(training.algorithm, state, plan)
                if training.budget is not None and not covers(training.budget, reserved, training.rounds):
                    plan, reserved = None, state
            if plan is not None:
                plan = poison_data(plan, self._federation, self._seed)
                plan = replace(plan, jobs=tuple(map(self._poisoned.of, plan.jobs)))
            plans.append((plan, reserved))
        watched = [self._watched(training, state) for training, state in zip(trainings, states, strict=True)]
        rows = self._train([plan for plan, _ in plans], first=all(state.round == 0 for state in states))
        for number, (training, (plan, state)) in enumerate(zip(trainings, plans, strict=True)):
            if plan is None:
                yield state, None
                continue
            try:
                received = receive(training.algorithm, state, plan, rows.of(number), self._seed)
            except TrainingFailed as failure:
                raise failure.at(plan.round, state.replica) from failure
            state, log = finish_round(training.algorithm, state, plan, received, self._seed)
            watched[number].add(log)
            yield state, log
        # Some cohort of many holds nobody but the one user whose updates are never finite.
        for updates in watched:
            updates.check()

    def _train(self, plans: Sequence[Plan | None], *, first: bool) -> SharedRows:
        """The rows of all plans; each job runs when its row is taken, unless an equal one has run."""
        rows = SharedRows(
            self._backend,
            [() if plan is None else plan.jobs for plan in plans],
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
