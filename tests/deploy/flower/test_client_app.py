from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flwr", reason="Flower is not installed: pip install fedward[flower]")

from flwr.app import Context, Message, RecordDict

from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.deploy.flower.client_app import NodeFailed, client_app
from fedward.deploy.flower.packet_records import from_records, to_records
from fedward.deploy.node.node_rules import Rules
from fedward.deploy.node.session import Refused
from fedward.deploy.wire.messages import Greeting, Presence
from fedward.local import SGD

FILE = """
seed = 1
rounds = 1
[data]
name = "digits"
users = 12
[model]
name = "logistic_regression"
[algorithm]
preset = "user_dp_fedavg"
clip_bound = 1.0
noise_multiplier = 1.0
sampler = { name = "poisson", rate = 0.5 }
local = { name = "sgd", learning_rate = 0.1, batch_size = 8, epochs = 1 }
"""
GREETING = Greeting(
    layout="x", users=("0",), trainer=SGD(learning_rate=0.1, batch_size=8, epochs=1)
).to_packet()


def context(**node_config: Any) -> Context:
    return Context(run_id=1, node_id=2, node_config=node_config, state=RecordDict(), run_config={})


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    file = tmp_path / "experiment.toml"
    file.write_text(FILE, encoding="utf8")
    return file


def ask(app: Any, message_type: str, where: Context) -> Presence:
    message = Message(to_records(GREETING), 2, message_type)
    return Presence.from_packet(from_records(app(message, where).content))


def test_rules_of_the_node_come_before_those_of_the_app(
    tmp_path: Path, experiment: Path, digits_of_12: Federation
) -> None:
    own = tmp_path / "rules.toml"
    own.write_text('trust_server = false\nepsilon = 1.0\ndelta = 1e-5\nledger = "ledger"\n')
    app = client_app(
        lambda config: [digits_of_12.user(0)],
        file=experiment,
        num_classes=10,
        rules=Rules(trust_server=True),
    )
    assert not ask(app, "query", context()).refuses
    assert "protected themselves" in ask(app, "query", context(rules=str(own))).refuses


def test_a_node_without_rules_does_nothing(experiment: Path, digits_of_12: Federation) -> None:
    app = client_app(lambda config: [digits_of_12.user(0)], file=experiment, num_classes=10)
    with pytest.raises(NodeFailed) as caught:
        ask(app, "query", context())
    assert isinstance(caught.value.__cause__, InvalidValue)
    assert "this node has no rules" in str(caught.value.__cause__)


def test_what_goes_wrong_with_somebodys_data_is_not_told_to_the_server(experiment: Path) -> None:
    def load(config: Mapping[str, Any]) -> Any:
        raise ValueError("John Doe has no blood pressure")

    app = client_app(load, file=experiment, num_classes=10, rules=Rules(trust_server=True))
    with pytest.raises(NodeFailed) as caught:
        ask(app, "query", context())
    assert "John" not in str(caught.value)


def test_a_refusal_is_told(experiment: Path, digits_of_12: Federation) -> None:
    from fedward.core.parameters import ParameterSpec
    from fedward.deploy.wire.messages import Task, layout_of
    from fedward.models import build
    from fedward.testing.backend_jobs import start_of

    model = build("logistic_regression", input_shape=(1, 8, 8), num_classes=10, seed=0)
    task = Task(
        round=0,
        layout=layout_of(ParameterSpec.of(model)),
        users=("0",),
        trainer=SGD(learning_rate=0.1, batch_size=8, epochs=1),
        bounds=(),
        parameters=start_of(model),
        seeds=(1,),
    )
    rules = Rules(trust_server=False, epsilon=1.0, delta=1e-5, ledger=experiment.parent)
    app = client_app(lambda config: [digits_of_12.user(0)], file=experiment, num_classes=10, rules=rules)
    with pytest.raises(Refused, match="protected themselves"):
        app(Message(to_records(task.to_packet()), 2, "train"), context())


def test_one_app_has_some_nodes_attack_and_others_not(experiment: Path, digits_of_12: Federation) -> None:
    import torch

    from fedward.attacks import Attack, NamedUsers
    from fedward.attacks.model_poisoning import Scale
    from fedward.core.parameters import ParameterSpec
    from fedward.deploy.wire.messages import Answer, Task, layout_of
    from fedward.models import build
    from fedward.testing.backend_jobs import start_of

    model = build("logistic_regression", input_shape=(1, 8, 8), num_classes=10, seed=0)
    task = Task(
        round=0,
        layout=layout_of(ParameterSpec.of(model)),
        users=("0",),
        trainer=SGD(learning_rate=0.1, batch_size=8, epochs=1),
        bounds=(),
        parameters=start_of(model),
        seeds=(1,),
    )
    attack = Attack(who=NamedUsers(users=("all",)), model=(Scale(factor=10.0),))
    app = client_app(
        lambda config: [digits_of_12.user(0)],
        file=experiment,
        num_classes=10,
        rules=Rules(trust_server=True),
        attack=lambda config: attack if config["partition-id"] == 1 else None,
    )
    rows = []
    for place in (0, 1):
        reply = app(Message(to_records(task.to_packet()), 2, "train"), context(**{"partition-id": place}))
        answer = Answer.from_packet(from_records(reply.content), ("0",), task.parameters)
        rows.append(answer.rows["0"])
    assert torch.allclose(rows[1], 10 * rows[0])


def test_nodes_of_a_simulation_do_not_share_a_ledger(experiment: Path, digits_of_12: Federation) -> None:
    from fedward.deploy.flower.client_app import _rules

    rules = Rules(trust_server=False, epsilon=1.0, delta=1e-5, ledger=Path("ledger"))
    assert [_rules(None, rules, place).ledger for place in (0, 1, -1)] == [
        Path("ledger/node-0"),
        Path("ledger/node-1"),
        Path("ledger"),
    ]
