from __future__ import annotations

from dataclasses import replace

import pytest
from torch import nn

from deploy.loopback_nodes import TRUSTING, Loopback
from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.core.parameters import ParameterSpec
from fedward.deploy.node.session import Node
from fedward.deploy.server.attendance import Attendance
from fedward.deploy.server.federated_backend import FederatedBackend
from fedward.deploy.server.population import DeclaredNode, Population
from fedward.deploy.wire.messages import Greeting, Task, layout_of
from fedward.local import SGD
from fedward.testing import check_backend
from fedward.testing.backend_jobs import jobs_of, network, people

TRAINER = SGD(learning_rate=0.1, batch_size=2, epochs=2)


def loopback(model: nn.Module, data: Federation) -> tuple[FederatedBackend, Loopback]:
    """A backend whose first node has users 0 and 1, and whose second has the others."""
    shares = (range(2), range(2, data.num_users))
    population = Population(
        nodes=tuple(
            DeclaredNode(name=f"node-{place}", key=f"key {place}", users=tuple(f"u{user}" for user in share))
            for place, share in enumerate(shares)
        )
    )
    carrier = Loopback(
        {
            100 + place: Node(
                model=model, users={f"u{user}": data.user(user) for user in share}, rules=TRUSTING
            )
            for place, share in enumerate(shares)
        }
    )
    greeting = Greeting(layout=layout_of(ParameterSpec.of(model)), users=None, trainer=TRAINER)
    attendance = Attendance(carrier, population, greeting=greeting, deadline=5.0)
    return FederatedBackend(model, population, carrier, attendance, deadline=5.0), carrier


def test_a_federation_keeps_what_backends_promise() -> None:
    report = check_backend(lambda model, data: loopback(model, data)[0], streams=False, has_data=False)
    assert len(report.skipped) == 3


def test_a_node_is_told_of_its_own_users_alone_in_one_message_a_round() -> None:
    model = network()
    backend, carrier = loopback(model, people())
    list(backend.train(jobs_of(model, [0, 3, 4])))
    tasks = {
        number: Task.from_packet(packet, ParameterSpec.of(model))
        for number, kind, packet in carrier.asked
        if kind == "task"
    }
    assert {number: task.users for number, task in tasks.items()} == {100: ("u0",), 101: ("u3", "u4")}
    assert sum(kind == "task" for _, kind, _ in carrier.asked) == 2


def test_a_node_whose_users_were_not_drawn_is_not_asked() -> None:
    model = network()
    backend, carrier = loopback(model, people())
    rows = list(backend.train(jobs_of(model, [0, 1])))
    assert [row.update is None for row in rows] == [False, False]
    assert [number for number, kind, _ in carrier.asked if kind == "task"] == [100]


def test_users_of_a_node_that_is_not_there_drop_out() -> None:
    model = network()
    backend, carrier = loopback(model, people())
    del carrier.nodes_there[101]
    rows = list(backend.train(jobs_of(model, [0, 3, 1])))
    assert [row.user for row in rows] == [0, 3, 1]
    assert [row.update is None for row in rows] == [False, True, False]


def test_a_declared_user_that_its_node_does_not_have_drops_out() -> None:
    model = network()
    backend, carrier = loopback(model, people())
    node = carrier.nodes_there[100]
    carrier.nodes_there[100] = replace(node, users={"u1": node.users["u1"]})
    rows = list(backend.train(jobs_of(model, [0, 1])))
    assert [row.update is None for row in rows] == [True, False]


def test_examples_are_never_sent() -> None:
    model = network()
    backend, _ = loopback(model, people())
    (job,) = jobs_of(model, [1])
    with pytest.raises(InvalidValue, match="brings none"):
        list(backend.train([replace(job, examples=people().user(2), version="poisoned")]))


def test_jobs_of_one_round_share_their_model() -> None:
    model = network()
    backend, _ = loopback(model, people())
    first, second = jobs_of(model, [0, 1])
    with pytest.raises(InvalidValue, match="share their model"):
        list(backend.train([first, replace(second, parameters=second.parameters + 1)]))
