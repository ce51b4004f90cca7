"""Nodes in this process, and a carrier between them and the server on which everything can go wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from fedward.config.experiment import Experiment, from_content
from fedward.core.federation import Federation
from fedward.deploy.node.node_rules import Rules
from fedward.deploy.node.session import Node
from fedward.deploy.server.federated_setup import FederatedSetup, prepare_federation
from fedward.deploy.server.federated_training import FederatedTraining
from fedward.deploy.server.federation_file import FederationFile
from fedward.deploy.server.message_transport import Kind, NodeSeen, Question, Reply
from fedward.deploy.server.population import DeclaredNode, Population
from fedward.deploy.wire.packet import Packet

TRUSTING = Rules(trust_server=True, seeded_noise=True)
SGD = {"name": "sgd", "learning_rate": 0.1, "batch_size": 8, "epochs": 1}
DP_SGD = {
    "name": "dp_sgd",
    "learning_rate": 0.5,
    "probability": 0.5,
    "expected_batch": 4.0,
    "steps": 2,
    "noise_multiplier": 1.0,
    "clip_bound": 1.0,
}
HALF = {"name": "poisson", "rate": 0.5}
CENTRAL: dict[str, Any] = {
    "preset": "user_dp_fedavg",
    "clip_bound": 1.0,
    "noise_multiplier": 2.0,
    "sampler": HALF,
    "local": SGD,
}
INSDP: dict[str, Any] = {"preset": "insdp_fedavg", "sampler": HALF, "local": DP_SGD}
USERS, NODES = 12, 3
Answers = Callable[[int, Kind, int, Packet, Callable[[], Packet]], Reply]


def experiment(algorithm: Mapping[str, Any] = CENTRAL, rounds: int = 3, **more: Any) -> Experiment:
    tables = {
        "seed": 1,
        "rounds": rounds,
        "data": {"name": "digits", "users": USERS},
        "model": {"name": "logistic_regression"},
        "algorithm": dict(algorithm),
        "privacy": {"users": USERS, "delta": 1e-3},
    }
    return from_content(tables | more)


def with_source(algorithm: Mapping[str, Any], source: str = "system") -> dict[str, Any]:
    """The same algorithm with noise from another source."""
    local = algorithm.get("local", {})
    if "noise_multiplier" in local:
        return {**algorithm, "local": {**local, "noise_source": source}}
    return {**algorithm, "noise_source": source}


def population(data: Federation, nodes: int = NODES, keyed: bool = True) -> Population:
    each = data.num_users // nodes
    return Population(
        nodes=tuple(
            DeclaredNode(
                name=f"node-{place}",
                users=tuple(map(str, range(each))),
                key=f"key {place}" if keyed else "",
                examples=tuple(data.sizes[place * each : (place + 1) * each].tolist()),
            )
            for place in range(nodes)
        )
    )


def federation_file(out: Path, data: Federation, **more: Any) -> FederationFile:
    options: dict[str, Any] = {"population": population(data), "wait": 0.05, "deadline": 5.0} | more
    return FederationFile(
        out=out, input_shape=data.roster.input_shape, num_classes=data.num_classes, **options
    )


def nodes_of(
    data: Federation, model: nn.Module, rules: Rules = TRUSTING, nodes: int = NODES
) -> dict[int, Node]:
    """A node for each share of the users; node n has the number 100 + n."""
    each = data.num_users // nodes
    return {
        100 + place: Node(
            model=model,
            users={str(user): data.user(place * each + user) for user in range(each)},
            rules=rules,
            place=place,
        )
        for place in range(nodes)
    }


class Loopback:
    """Carries packets to nodes in this process.

    Args:
      nodes: by number.
      answers: what comes back in the place of a node's own answer, which it is given to call; for faults.
    """

    def __init__(self, nodes: Mapping[int, Node], answers: Answers | None = None) -> None:
        self.nodes_there = dict(nodes)
        self.answers = answers
        self.asked: list[tuple[int, Kind, Packet]] = []

    def nodes(self) -> list[NodeSeen]:
        return [NodeSeen(number=number, key=f"key {number - 100}") for number in self.nodes_there]

    def ask(
        self, questions: Mapping[int, Question], kind: Kind, round: int, deadline: float
    ) -> dict[int, Reply]:
        return {
            number: self._ask(number, question.packet, kind, round) for number, question in questions.items()
        }

    def _ask(self, number: int, packet: Packet, kind: Kind, round: int) -> Reply:
        self.asked.append((number, kind, packet))
        node = self.nodes_there[number]

        def own() -> Packet:
            return node.greet(packet) if kind == "greeting" else node.answer(packet)

        try:
            if self.answers is not None:
                return self.answers(number, kind, round, packet, own)
            return Reply(packet=own())
        except Exception as error:  # as Flower does: the server hears of it, and no more
            return Reply(problem=str(error))


def prepare(
    out: Path, data: Federation, algorithm: Mapping[str, Any] = CENTRAL, **more: Any
) -> FederatedSetup:
    """A setup on the declared users of this data; ``rounds`` and file options may be given."""
    rounds = more.pop("rounds", 3)
    return prepare_federation(experiment(algorithm, rounds), federation_file(out, data, **more), data.test)


def run_to_end(setup: FederatedSetup, transport: Loopback) -> None:
    training = FederatedTraining(setup=setup, transport=transport, sleep=lambda seconds: None)
    with training.open() as place:
        for _ in training.steps(place):
            pass
