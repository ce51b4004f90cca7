"""The attacker's own part in a round, and simulated rounds on data that it chooses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from fedward.aggregation import Mean, WeightedMean
from fedward.core.algorithm import Algorithm
from fedward.core.examples import Examples
from fedward.core.federation import Federation
from fedward.core.receive import receive
from fedward.core.round import finish_round
from fedward.core.train import reserve
from fedward.core.types import Backend, Job, LocalTrainer, Plan, PrivateTrainer, Row, ServerState
from fedward.server import ServerStep


@dataclass(frozen=True, kw_only=True, eq=False)
class Own:
    """The attacker's part in a round: the update that it sent, and what it knows of its weight."""

    update: Tensor
    examples: int
    cohort_examples: int


class WatchedBackend:
    """A backend in which one user trains on the data that a schedule gives it, and another one remembers.

    Args:
      backend: runs the jobs.
      victim: whose data is given.
      attacker: who remembers the update that it sent.
    """

    def __init__(self, backend: Backend, *, victim: int, attacker: int) -> None:
        self._backend, self._victim, self._attacker = backend, victim, attacker
        self.examples: Examples | None = None
        self.own: Own | None = None

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        self.own = None
        asked = [self._with_data(job) for job in jobs]
        total = sum(job.num_examples for job in asked)
        for job, row in zip(asked, self._backend.train(asked), strict=True):
            # A row that is not finite is rejected: nothing of it is in the model.
            if (
                job.user == self._attacker
                and isinstance(row.update, Tensor)
                and bool(row.update.isfinite().all())
            ):
                self.own = Own(update=row.update, examples=job.num_examples, cohort_examples=total)
            yield row

    def _with_data(self, job: Job) -> Job:
        if job.user != self._victim or self.examples is None:
            return job
        return replace(job, version="given", examples=self.examples)


def own_part(algorithm: Algorithm, own: Own | None, state: ServerState) -> Tensor | None:
    """How far the attacker's own update has moved the model; None where it cannot know.

    It can where the server adds a mean to the model: its update is in there with a weight that is public.
    From the update that a median or Krum has chosen, or that went through momentum, nothing can be taken out.
    """
    if own is None or not isinstance(algorithm.server, ServerStep):
        return None
    weight = algorithm.server.learning_rate
    if isinstance(algorithm.aggregator, Mean):
        weight /= algorithm.aggregator.expected_cohort
    elif isinstance(algorithm.aggregator, WeightedMean):
        weight *= own.examples / own.cohort_examples
    else:
        return None
    update = own.update
    if algorithm.server_clips:
        if algorithm.policy.reads_norms:
            return None
        update = algorithm.norm.clip(update, algorithm.norm.measure(update), algorithm.bounds(state, None))
    return weight * update


def trained_rows(
    algorithm: Algorithm, state: ServerState, backend: Backend, batches: list[Examples], seeds: list[int]
) -> list[Row]:
    """What users would send that have these data, from the model of this round on."""
    trainer = round_trainer(algorithm, state)
    jobs = [
        Job(
            parameters=state.parameters,
            user=0,
            num_examples=len(batch),
            trainer=trainer,
            seed=seed,
            version="simulated",
            examples=batch,
            private=isinstance(trainer, PrivateTrainer),
        )
        for batch, seed in zip(batches, seeds, strict=True)
    ]
    return list(backend.train(jobs))


def round_trainer(algorithm: Algorithm, state: ServerState) -> LocalTrainer:
    bounds = () if algorithm.policy.reads_norms else algorithm.bounds(state, None)
    return algorithm.local.at_round(state.round, bounds)


def simulated_move(
    algorithm: Algorithm, state: ServerState, federation: Federation, sent: Mapping[int, Row], seed: int
) -> Tensor:
    """How far the model would move if these users sent these rows: clipped, combined and noised as declared.

    Args:
      state: before the round.
      federation: for the weights of users.
      sent: by user.
      seed: of the noise, which is the attacker's own.
    """
    users = np.array(sorted(sent), dtype=np.int64)
    trainer = round_trainer(algorithm, state)
    jobs = tuple(
        Job(parameters=state.parameters, user=user, num_examples=size, trainer=trainer, seed=0)
        for user, size in zip(users.tolist(), federation.sizes_of(users), strict=True)
    )
    plan = Plan(
        round=state.round,
        cohort=users,
        jobs=jobs,
        event=algorithm.round_event(federation.num_users, state.round),
        bounds=(),
        adversary=None,
    )
    rows = [Row(user, sent[user].update, sent[user].norm) for user in users.tolist()]
    reserved = reserve(algorithm, state, plan)
    received = receive(algorithm, reserved, plan, rows, seed)
    after, _ = finish_round(algorithm, reserved, plan, received, seed)
    moved: Tensor = after.parameters - state.parameters
    return moved


def drawn_users(
    algorithm: Algorithm, num_users: int, rng: np.random.Generator, *, present: set[int], absent: set[int]
) -> list[int]:
    """A cohort as the server might draw it, with and without some users; it keeps its size where it can."""
    cohort = set(algorithm.sampler.draw(num_users, rng).tolist())
    size = len(cohort)
    others = rng.permutation(sorted(cohort - present - absent)).astype(np.int64).tolist()
    if algorithm.sampler.exact:
        others = others[: max(0, size - len(present))]
    return sorted({*others, *present})
