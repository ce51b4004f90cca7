"""The app that Flower runs at a node."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

from fedward.attacks import Attack
from fedward.base.validate import InvalidType, InvalidValue
from fedward.config.model_section import model_for
from fedward.core.examples import Examples, Ragged
from fedward.deploy.app_experiment import read_experiment
from fedward.deploy.flower.packet_records import from_records, to_records
from fedward.deploy.node.node_rules import Rules, read_rules
from fedward.deploy.node.session import Node, Refused, Users, read_users
from fedward.deploy.node.staging import stage
from fedward.deploy.wire.packet import BadPacket, Packet

KEY = "rules"
"""The key of a supernode's own configuration that holds the path of its rules."""

log = logging.getLogger("flwr")

LoadUsers = Callable[[Mapping[str, Any]], Users]
AttackOf = Callable[[Mapping[str, Any]], Attack | None]


class NodeFailed(RuntimeError):
    """All that a server is told of an error at a node: what went wrong may be about somebody's data."""


def client_app(
    load_users: LoadUsers,
    *,
    file: str | os.PathLike[str],
    num_classes: int,
    rules: str | os.PathLike[str] | Rules | None = None,
    attack: Attack | AttackOf | None = None,
    attack_seed: int = 0,
    trust: bool = False,
) -> ClientApp:
    """A node of a federation over Flower: it trains its own users, as far as its own rules and ledger allow.

    The rules of whoever owns the data are a file on the node, which the supernode is started with:
    ``--node-config 'rules="/etc/fedward/rules.toml"'``. They come before ``rules``, which is part of the app
    and so comes from whoever sends the app.

    Args:
      load_users: loads the users of this node, given its configuration: their examples (or inputs and labels)
        by name, or in order where only their number is declared.
      file: the experiment, for its model.
      num_classes: how many classes the model tells apart.
      rules: for simulations and for nodes that have none of their own.
      attack: an attack that all users of a node carry out, to see what a defence is worth. Every node gets
        the same app: to have some nodes attack, give a function of a node's configuration, which says None
        for the others.
      attack_seed: of all that the attack draws.
      trust: whether code that the experiment names may be imported.
    """
    app = ClientApp()

    def node(context: Context) -> Node:
        config = dict(context.node_config)
        place = config.get("partition-id", -1)
        users = read_users(load_users(config))
        model = _model(Path(file), next(iter(users.values())), num_classes, trust)
        own_rules = _rules(config.get(KEY), rules, place)
        own_rules.check_files()
        staged = attack if attack is None or isinstance(attack, Attack) else attack(config)
        return Node(
            model=model,
            users=users,
            rules=own_rules,
            place=place if isinstance(place, int) else -1,
            staged=None if staged is None else stage(staged, users, num_classes),
            attack_seed=attack_seed,
        )

    def train(message: Message, context: Context) -> Message:
        return _reply(message, lambda packet: node(context).answer(packet))

    def query(message: Message, context: Context) -> Message:
        return _reply(message, lambda packet: node(context).greet(packet))

    app.train()(train)
    app.query()(query)
    return app


def _reply(message: Message, answer: Callable[[Packet], Packet]) -> Message:
    """The answer to a message. Of an error the server is told no more than what it has said itself."""
    try:
        packet = answer(from_records(message.content))
    except (Refused, BadPacket) as error:
        log.warning("refused: %s", error)
        raise
    except Exception as error:
        raise NodeFailed("this node cannot answer; its own log says why") from error
    return Message(to_records(packet), reply_to=message)


def _rules(of_node: Any, of_app: str | os.PathLike[str] | Rules | None, place: Any) -> Rules:
    if of_node is not None:
        if not isinstance(of_node, str):
            raise InvalidType(f"{KEY} of a node must be a path in quotes, got {of_node!r}")
        return read_rules(Path(of_node))
    if of_app is None:
        raise InvalidValue(
            f"this node has no rules: start it with --node-config '{KEY}=\"/path/rules.toml\"'"
        )
    found = of_app if isinstance(of_app, Rules) else read_rules(Path(of_app))
    log.warning("this node has no rules of its own: those of the app hold")
    if found.ledger is not None and isinstance(place, int) and place >= 0:
        # Nodes of a simulation share a disk.
        found = replace(found, ledger=found.ledger / f"node-{place}")
    return found


def _model(file: Path, one: Examples, num_classes: int, trust: bool) -> Any:
    section = read_experiment(file, trust=trust).model
    if "weights" in type(section).model_fields:  # parameters come with every task
        section = section.model_copy(update={"weights": None})
    shape = () if isinstance(one.x, Ragged) else tuple(one.x.shape[1:])
    return model_for(section, shape, num_classes, seed=0)[0]
