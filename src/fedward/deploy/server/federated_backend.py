"""A backend whose jobs run at nodes: one message a node and round, and nothing that comes back is trusted."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fedward.backends.engines.choice import Engine
from fedward.backends.engines.evaluation import Metrics
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Bounds, Job, Row
from fedward.deploy.server.attendance import Attendance
from fedward.deploy.server.message_transport import Question, Reply, Transport
from fedward.deploy.server.population import Population
from fedward.deploy.wire.messages import Answer, Task, layout_of
from fedward.deploy.wire.packet import BadPacket, Packet

log = logging.getLogger("fedward.deploy")


@dataclass(frozen=True, kw_only=True)
class RoundTerms:
    """What nodes are told of a round besides its jobs: clip bounds, and the looks at norms that it takes."""

    bounds: Bounds = ()
    looks: tuple[float, ...] = ()


class FederatedBackend:
    """The backend of a real federation.

    A user drops out (its row is missing, which counts as zero) if its node is not there, does not answer
    before the deadline, sends anything but what it was asked for, or leaves the user out. It is never drawn
    again. Models are measured here, by the server.

    Args:
      module: the model; the server measures with it.
      population: user ``u`` of a job is user ``u`` of it.
      transport: carries messages.
      attendance: knows which nodes are there.
      deadline: seconds that nodes have for a round.
    """

    def __init__(
        self,
        module: nn.Module,
        population: Population,
        transport: Transport,
        attendance: Attendance,
        *,
        deadline: float,
    ) -> None:
        self._engine = Engine(module)
        self._layout = layout_of(ParameterSpec.of(module))
        self._places = population.places()
        self._transport, self._attendance = transport, attendance
        self._deadline = deadline
        self.terms = RoundTerms()

    def train(self, jobs: Iterable[Job]) -> Iterator[Row]:
        asked = list(jobs)
        for job in asked:
            if job.examples is not None:
                raise InvalidValue("nodes train on their own data: a job of a federation brings none")
        rows: dict[int, Row] = {}
        for wave in _waves(asked):
            rows |= self._ask(asked, wave)
        yield from (rows[place] for place in range(len(asked)))

    def _ask(self, asked: list[Job], places: list[int]) -> dict[int, Row]:
        """The rows of the jobs in these places, each of another user, by place."""
        by_node: dict[str, list[Job]] = {}
        for place in places:
            node, _ = self._places[asked[place].user]
            by_node.setdefault(node.name, []).append(asked[place])
        there = self._attendance.present()
        for name in sorted(set(by_node) - set(there)):
            log.warning("node %s is not there: its users of this round drop out", name)
        tasks = {name: self._task(own) for name, own in by_node.items() if name in there}
        questions = {
            there[name]: Question(packet=task.to_packet(), longest_answer=task.longest_answer)
            for name, task in tasks.items()
        }
        round = asked[places[0]].round
        replies = self._transport.ask(questions, "task", 0 if round is None else round, self._deadline)
        answers = {name: self._read(name, task, replies.get(there[name])) for name, task in tasks.items()}
        return {place: self._row(asked[place], answers) for place in places}

    def evaluate(self, parameters: Tensor, examples: Examples) -> Metrics:
        return self._engine.evaluate(parameters, examples)

    def evaluate_many(self, models: Iterable[Tensor], examples: Examples) -> Iterator[Metrics]:
        """Accuracy and loss of each model, in the order of the models."""
        for parameters in models:
            yield self._engine.evaluate(parameters, examples)

    def confidences(self, models: Iterable[Tensor], examples: Examples) -> Iterator[NDArray[np.float32]]:
        """The softmax of each model's scores, ``[examples, classes]``, in the order of the models."""
        for parameters in models:
            yield self._engine.confidences(parameters, examples)

    def close(self) -> None:
        """Nothing is held: nodes go on without this server."""

    def _task(self, jobs: list[Job]) -> Task:
        """All of one node's jobs of a round: they share model and trainer, and it learns of no others."""
        first = jobs[0]
        for job in jobs:
            same = job.parameters is first.parameters or torch.equal(job.parameters, first.parameters)
            if not same or job.trainer != first.trainer:
                raise InvalidValue("jobs of one round must share their model and their local trainer")
        seeds = [job.seed for job in jobs]
        return Task(
            round=first.round if first.round is not None else 0,
            layout=self._layout,
            users=tuple(self._places[job.user][1] for job in jobs),
            trainer=first.trainer,
            bounds=self.terms.bounds,
            looks=self.terms.looks,
            parameters=first.parameters,
            seeds=None if None in seeds else tuple(seed for seed in seeds if seed is not None),
        )

    def _read(self, name: str, task: Task, reply: Reply | None) -> Answer | None:
        """A node's answer, if it is one; all of its users drop out otherwise."""
        if reply is None or reply.packet is None:
            problem = "no answer before the deadline" if reply is None else reply.problem
            log.warning("node %s: %s; its users of this round drop out", name, problem)
            return None
        packet: Packet = reply.packet
        try:
            answer = Answer.from_packet(packet, task.users, task.parameters)
        except BadPacket as error:
            log.warning("node %s sent what is no answer, %s; its users of this round drop out", name, error)
            return None
        for reason, count in answer.left_out.items():
            if count:
                log.warning("node %s left out %d users of this round: %s", name, count, reason)
        return answer

    def _row(self, job: Job, answers: Mapping[str, Answer | None]) -> Row:
        node, user = self._places[job.user]
        answer = answers.get(node.name)
        if answer is None or user not in answer.rows:
            return Row(job.user, None)
        return Row(job.user, answer.rows[user], answer.norms.get(user))


def _waves(jobs: list[Job]) -> list[list[int]]:
    """The places of the jobs, in parts that name no user twice; those of a round are one part."""
    waves: list[list[int]] = []
    seen: Counter[int] = Counter()
    for place, job in enumerate(jobs):
        if seen[job.user] == len(waves):
            waves.append([])
        waves[seen[job.user]].append(place)
        seen[job.user] += 1
    return waves
