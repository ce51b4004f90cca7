from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from fedward.base.validate import InvalidValue
from fedward.core.parameters import ParameterSpec
from fedward.core.types import LocalTrainer
from fedward.deploy.node.node_ledger import NodeLedger
from fedward.deploy.node.node_rules import Rules
from fedward.deploy.node.session import Node, Refused, read_users
from fedward.deploy.wire.messages import Answer, Greeting, Presence, Task, layout_of
from fedward.local import DPSGD, SGD, NoisyGradient
from fedward.testing.backend_jobs import Fails, network, people, start_of

PLAIN = SGD(learning_rate=0.1, batch_size=2, epochs=1)
PRIVATE = NoisyGradient(noise_multiplier=4.0, clip_bound=1.0, noise_source="system")
SEEDED = replace(PRIVATE, noise_source="seeded")


def rules(folder: Path, **more: Any) -> Rules:
    return Rules(trust_server=False, epsilon=20.0, delta=1e-5, ledger=folder, **more)


def node(own_rules: Rules, model: nn.Module | None = None) -> Node:
    users = {f"u{user}": people().user(user) for user in range(3)}
    return Node(model=model or network(), users=users, rules=own_rules)


def task(trainer: LocalTrainer, model: nn.Module | None = None, **more: Any) -> Task:
    module = model or network()
    options: dict[str, Any] = {"users": ("u0", "u1"), "bounds": (1.0,)} | more
    return Task(
        round=0,
        layout=layout_of(ParameterSpec.of(module)),
        trainer=trainer,
        parameters=start_of(module),
        **options,
    )


def answer(own: Node, asked: Task) -> Answer:
    return Answer.from_packet(own.answer(asked.to_packet()), asked.users, asked.parameters)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (task(PLAIN, seeds=(1, 2)), "protected themselves"),
        (task(SEEDED, seeds=(1, 2)), "own entropy"),
        (task(SEEDED), "own entropy"),
        (task(PRIVATE, seeds=(1, 2)), "own entropy"),
        (task(PRIVATE, looks=(3.0,)), "does not tell norms"),
    ],
    ids=["plain updates", "seeded noise", "noise without its seed", "the server's seeds", "norms"],
)
def test_what_the_rules_do_not_allow_is_refused_and_costs_nothing(
    asked: Task, says: str, tmp_path: Path
) -> None:
    with pytest.raises(Refused, match=says):
        node(rules(tmp_path)).answer(asked.to_packet())
    assert not list(tmp_path.iterdir())


def test_users_that_protect_themselves_draw_other_noise_every_time_and_are_charged_every_time(
    tmp_path: Path,
) -> None:
    own = node(rules(tmp_path))
    first, second = answer(own, task(PRIVATE)), answer(own, task(PRIVATE))
    assert not torch.equal(first.rows["u0"], second.rows["u0"])
    assert not torch.equal(first.rows["u0"], first.rows["u1"])
    found = NodeLedger(tmp_path, own.rules.budget).read()
    assert found is not None
    ledger = found.ledger("u0")
    assert ledger is not None
    assert ledger.rounds == 2
    assert found.ledger("u2") is None


def test_norms_are_sent_only_where_the_rules_allow_it_and_their_looks_are_charged(tmp_path: Path) -> None:
    assert not answer(node(rules(tmp_path / "a", show_norms=True)), task(PRIVATE)).norms
    own = node(rules(tmp_path / "b", show_norms=True))
    shown = answer(own, task(PRIVATE, looks=(3.0,)))
    assert set(shown.norms) == {"u0", "u1"}
    plain = NodeLedger(tmp_path / "a", own.rules.budget).read()
    looked = NodeLedger(tmp_path / "b", own.rules.budget).read()
    assert plain is not None
    assert looked is not None
    one, other = (found.ledgers.guarantee(0, 1e-5, "rdp").epsilon for found in (plain, looked))
    assert other > one


def test_a_model_that_mixes_examples_is_refused_where_examples_are_hidden(tmp_path: Path) -> None:
    class Mixes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network()

        def forward(self, x: torch.Tensor) -> Any:
            return self.inner(x - x.mean(0))

    trainer = DPSGD(
        learning_rate=0.1,
        probability=0.5,
        expected_batch=2.0,
        steps=1,
        noise_multiplier=5.0,
        clip_bound=1.0,
        noise_source="system",
    )
    with pytest.raises(InvalidValue):
        node(rules(tmp_path), Mixes()).answer(task(trainer, Mixes()).to_packet())
    assert not list(tmp_path.iterdir())


def test_a_trusting_node_sends_what_a_simulation_computes() -> None:
    from fedward.core.types import Job
    from fedward.testing.backend_jobs import reference

    found = answer(node(Rules(trust_server=True)), task(PLAIN, seeds=(5, 6)))
    jobs = [
        Job(parameters=start_of(network()), user=user, num_examples=1, trainer=PLAIN, seed=5 + user)
        for user in (0, 1)
    ]
    for name, row in zip(("u0", "u1"), reference().train(jobs), strict=True):
        assert torch.equal(found.rows[name], row.update)
    assert not found.norms


def test_users_that_are_not_there_or_fail_are_left_out_and_counted() -> None:
    own = node(Rules(trust_server=True), Fails())
    far = own.users["u1"]
    assert isinstance(far.x, torch.Tensor)
    own = replace(own, users={**own.users, "u1": replace(far, x=far.x + 1000)})
    found = answer(own, task(PLAIN, Fails(), users=("u0", "u1", "nobody"), seeds=(1, 2, 3)))
    assert set(found.rows) == {"u0"}
    assert dict(found.left_out) == {"unknown": 1, "failed": 1, "budget": 0}


def test_a_greeting_says_how_far_users_are_the_declared_ones_and_names_nobody() -> None:
    greeting = Greeting(layout="x", users=("u0", "u1", "gone"), trainer=PLAIN)
    found = Presence.from_packet(node(Rules(trust_server=True)).greet(greeting.to_packet()))
    assert (found.missing, found.undeclared, found.refuses) == (1, 1, "")
    assert found.layout == layout_of(ParameterSpec.of(network()))


@pytest.mark.parametrize("given", [[(np.ones((2, 3)), [0, 1])], {"0": (np.ones((2, 3)), [0, 1])}])
def test_users_may_be_given_in_order_or_by_name(given: Any) -> None:
    users = read_users(given)
    assert list(users) == ["0"]
    assert len(users["0"]) == 2


@pytest.mark.parametrize("given", [[], {}, "ann", 3, [3], [(np.ones((0, 3)), [])]])
def test_users_that_are_none_are_refused(given: Any) -> None:
    with pytest.raises(InvalidValue):
        read_users(given)
