"""The population: every node that may take part, by its public key, and the users that it has."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from fedward.base.validate import InvalidType, InvalidValue, whole
from fedward.core.roster import Roster
from fedward.deploy.toml_tables import require_known

_KEYS = ("key", "users", "examples")


@dataclass(frozen=True, kw_only=True)
class DeclaredNode:
    """A node as the server's file has it.

    Args:
      name: what it is called in messages for people.
      users: what its users are called; ``"0"``, ``"1"``, ... where only their number is declared.
      key: its public key, as ``ssh-keygen`` writes it; empty in a simulation, which has no keys.
      examples: how many examples each user has, where that is declared; it weighs means that are weighted.
    """

    name: str
    users: tuple[str, ...]
    key: str = ""
    examples: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not self.users:
            raise InvalidValue(f"node {self.name} must have at least one user, got none")
        if len(set(self.users)) < len(self.users):
            raise InvalidValue(f"node {self.name} must name every user once, got one twice")
        if self.examples is not None:
            if len(self.examples) != len(self.users):
                raise InvalidValue(
                    f"node {self.name} must declare examples for each of {len(self.users)} users, "
                    f"got {len(self.examples)}"
                )
            for number in self.examples:
                whole(f"examples of a user of node {self.name}", number)


@dataclass(frozen=True, kw_only=True)
class Population:
    """All users that there are. It is declared before the training, and who is offline stays in it.

    >>> one = DeclaredNode(name="north", users=("ann", "bob"))
    >>> population = Population(nodes=(one, DeclaredNode(name="south", users=("eve",))))
    >>> population.num_users, [f"{node.name}/{user}" for node, user in population.places()]
    (3, ['north/ann', 'north/bob', 'south/eve'])
    """

    nodes: tuple[DeclaredNode, ...]

    def __post_init__(self) -> None:
        if not self.nodes:
            raise InvalidValue("a population must have at least one node, got none")
        for what, values in (
            ("name", [node.name for node in self.nodes]),
            ("key", [_bare(node.key) for node in self.nodes if node.key]),
        ):
            if len(set(values)) < len(values):
                raise InvalidValue(f"every node must have a {what} of its own, got one twice")
        declared = {node.examples is not None for node in self.nodes}
        if len(declared) > 1:
            raise InvalidValue("examples must be declared for all nodes or for none")
        keys = {bool(node.key) for node in self.nodes}
        if len(keys) > 1:
            raise InvalidValue("keys must be declared for all nodes or, in a simulation, for none")

    @property
    def num_users(self) -> int:
        return sum(len(node.users) for node in self.nodes)

    @property
    def declares_examples(self) -> bool:
        """Whether it is declared how many examples users have."""
        return self.nodes[0].examples is not None

    @property
    def keyed(self) -> bool:
        """Whether nodes are known by their keys; not in a simulation."""
        return bool(self.nodes[0].key)

    @property
    def digest(self) -> str:
        """Changes whenever a user joins or leaves, moves to another node, or declares another size."""
        content = [[node.name, node.users, node.examples] for node in self.nodes]
        return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()

    def places(self) -> list[tuple[DeclaredNode, str]]:
        """Where each user is and what it is called there, in the order of their numbers."""
        return [(node, user) for node in self.nodes for user in node.users]

    def node_with_key(self, key: str) -> DeclaredNode | None:
        """The node that a public key belongs to; None if it belongs to nobody who is declared."""
        return next((node for node in self.nodes if node.key and _bare(node.key) == _bare(key)), None)

    def roster(self, input_shape: tuple[int, ...], num_classes: int, *, tokens: bool = False) -> Roster:
        """What rounds are planned from. Users without a declared number of examples count as one each."""
        sizes = [
            number
            for node in self.nodes
            for number in (node.examples if node.examples is not None else (1,) * len(node.users))
        ]
        return Roster.declared(
            sizes=sizes,
            input_shape=input_shape,
            num_classes=num_classes,
            names=[f"{node.name}/{user}" for node, user in self.places()],
            dtype=torch.int64 if tokens else torch.float32,
        )


def read_population(content: Any) -> Population:
    """The population of a table ``[nodes]``: ``NAME = { key = "...", users = 20 }``, or users by name."""
    if not isinstance(content, Mapping) or not content:
        raise InvalidType("nodes must be a table with one entry for each node")
    return Population(nodes=tuple(_node(str(name), each) for name, each in content.items()))


def _node(name: str, content: Any) -> DeclaredNode:
    if not isinstance(content, dict):
        raise InvalidType(f"node {name} must be a table, got {content!r}")
    require_known(content, _KEYS, f"node {name}")
    users, examples, key = content.get("users"), content.get("examples"), content.get("key", "")
    if not isinstance(key, str):
        raise InvalidType(f"key of node {name} must be text in quotes, got {key!r}")
    if isinstance(users, int) and not isinstance(users, bool):
        named = tuple(map(str, range(whole(f"users of node {name}", users))))
    elif isinstance(users, list) and all(isinstance(user, str) for user in users):
        named = tuple(users)
    else:
        raise InvalidType(f"users of node {name} must be a number or a list of names, got {users!r}")
    if examples is not None and not isinstance(examples, list):
        raise InvalidType(f"examples of node {name} must be a list of whole numbers, got {examples!r}")
    return DeclaredNode(
        name=name, users=named, key=key, examples=None if examples is None else tuple(examples)
    )


def _bare(key: str) -> str:
    """A public key without the comment that stands behind it."""
    return " ".join(key.split()[:2])
