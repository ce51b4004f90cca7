from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.loopback_nodes import CENTRAL, INSDP, Loopback, nodes_of, prepare, with_source
from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.deploy.node.node_rules import Rules
from fedward.deploy.server.attendance import Attendance, NotEnoughNodes
from fedward.deploy.server.federated_setup import FederatedSetup
from fedward.deploy.server.message_transport import Kind, Reply
from fedward.deploy.wire.packet import Packet
from fedward.models import build


def attend(setup: FederatedSetup, carrier: Loopback, keyed: bool = True) -> Attendance:
    population = setup.file.population
    if not keyed:
        nodes = tuple(replace(node, key="") for node in population.nodes)
        population = replace(population, nodes=nodes)
    return Attendance(carrier, population, greeting=setup.greeting, deadline=1.0, sleep=lambda seconds: None)


def test_declared_nodes_are_known_by_their_keys_and_greeted_once(
    tmp_path: Path, digits_of_12: Federation
) -> None:
    setup = prepare(tmp_path, digits_of_12)
    carrier = Loopback(nodes_of(digits_of_12, setup.model))
    attendance = attend(setup, carrier)
    assert attendance.present() == {"node-0": 100, "node-1": 101, "node-2": 102}
    assert attendance.present() == {"node-0": 100, "node-1": 101, "node-2": 102}
    assert len(carrier.asked) == 3


def test_a_node_with_an_undeclared_key_is_not_talked_to(
    tmp_path: Path, digits_of_12: Federation, caplog: pytest.LogCaptureFixture
) -> None:
    setup = prepare(tmp_path, digits_of_12)
    carrier = Loopback(nodes_of(digits_of_12, setup.model))
    carrier.nodes_there[107] = carrier.nodes_there[100]
    with caplog.at_level(logging.WARNING):
        assert 107 not in attend(setup, carrier).present().values()
    assert 107 not in [number for number, _, _ in carrier.asked]
    assert "its key is not in the population" in caplog.text


def test_without_keys_a_node_of_a_simulation_is_known_by_its_place(
    tmp_path: Path, digits_of_12: Federation
) -> None:
    setup = prepare(tmp_path, digits_of_12)
    carrier = Loopback(nodes_of(digits_of_12, setup.model))
    assert attend(setup, carrier, keyed=False).present() == {"node-0": 100, "node-1": 101, "node-2": 102}


def test_a_second_node_in_the_place_of_another_is_not_talked_to(
    tmp_path: Path, digits_of_12: Federation
) -> None:
    setup = prepare(tmp_path, digits_of_12)
    carrier = Loopback(nodes_of(digits_of_12, setup.model))
    carrier.nodes_there[109] = carrier.nodes_there[100]
    found = attend(setup, carrier, keyed=False).present()
    assert found == {"node-0": 100, "node-1": 101, "node-2": 102}


def test_a_node_with_another_model_stops_the_run(tmp_path: Path, digits_of_12: Federation) -> None:
    setup = prepare(tmp_path, digits_of_12)
    nodes = nodes_of(digits_of_12, setup.model)
    nodes[101] = replace(nodes[101], model=build("mlp", input_shape=(1, 8, 8), num_classes=10, seed=1))
    with pytest.raises(InvalidValue, match="node node-1 holds another model"):
        attend(setup, Loopback(nodes)).present()


@pytest.mark.parametrize(
    ("algorithm", "reason"),
    [
        (CENTRAL, "protected themselves"),
        (INSDP, "own entropy"),
    ],
    ids=["a server that wants plain updates", "a server that wants to know the noise"],
)
def test_a_node_whose_rules_refuse_is_not_there(
    algorithm: dict[str, Any],
    reason: str,
    tmp_path: Path,
    digits_of_12: Federation,
    caplog: pytest.LogCaptureFixture,
) -> None:
    setup = prepare(tmp_path, digits_of_12, algorithm)
    rules = Rules(trust_server=False, epsilon=8.0, delta=1e-5, ledger=tmp_path / "ledger")
    carrier = Loopback(nodes_of(digits_of_12, setup.model, rules))
    with caplog.at_level(logging.WARNING), pytest.raises(NotEnoughNodes):
        attend(setup, carrier).wait_for(1, 0.01)
    assert reason in caplog.text
    assert not (tmp_path / "ledger").exists()


def test_rules_that_fit_are_there(tmp_path: Path, digits_of_12: Federation) -> None:
    setup = prepare(tmp_path, digits_of_12, with_source(INSDP))
    rules = Rules(trust_server=False, epsilon=8.0, delta=1e-5, ledger=tmp_path / "ledger")
    carrier = Loopback(nodes_of(digits_of_12, setup.model, rules))
    assert len(attend(setup, carrier).wait_for(3, 0.01)) == 3


def test_a_node_that_does_not_answer_is_greeted_again_after_a_while(
    tmp_path: Path, digits_of_12: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = prepare(tmp_path, digits_of_12)

    def silent(number: int, kind: Kind, round: int, packet: Packet, own: Callable[[], Packet]) -> Reply:
        return Reply(problem="no answer") if number == 101 else Reply(packet=own())

    carrier = Loopback(nodes_of(digits_of_12, setup.model), silent)
    attendance = attend(setup, carrier)
    assert set(attendance.present()) == {"node-0", "node-2"}
    carrier.answers = None
    assert set(attendance.present()) == {"node-0", "node-2"}
    monkeypatch.setattr("time.monotonic", lambda: 1e12)
    assert set(attendance.present()) == {"node-0", "node-1", "node-2"}


def test_lacking_and_undeclared_users_are_counted_and_never_named(
    tmp_path: Path, digits_of_12: Federation, caplog: pytest.LogCaptureFixture
) -> None:
    setup = prepare(tmp_path, digits_of_12)
    nodes = nodes_of(digits_of_12, setup.model)
    users = {name: own for name, own in nodes[100].users.items() if name != "2"}
    nodes[100] = replace(nodes[100], users=users | {"John Doe": users["0"], "Jane": users["1"]})
    with caplog.at_level(logging.WARNING):
        attend(setup, Loopback(nodes)).present()
    assert "lacks 1 of its declared users" in caplog.text
    assert "has 2 that are not declared" in caplog.text
    assert "John" not in caplog.text
