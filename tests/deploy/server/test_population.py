from __future__ import annotations

from typing import Any

import pytest

from fedward.base.validate import InvalidValue
from fedward.deploy.server.population import DeclaredNode, Population, read_population

KEY = "ecdsa-sha2-nistp384 AAAA"


def test_users_are_numbers_in_the_order_of_the_file() -> None:
    population = read_population(
        {
            "north": {"users": ["ann", "bob"], "key": f"{KEY}A"},
            "south": {"users": 2, "key": f"{KEY}B me@here"},
        }
    )
    names = [f"{node.name}/{user}" for node, user in population.places()]
    assert names == ["north/ann", "north/bob", "south/0", "south/1"]
    assert population.roster((3,), 2).names.tolist() == names
    assert population.roster((3,), 2).sizes.tolist() == [1, 1, 1, 1]
    found = population.node_with_key(f"{KEY}B")
    assert found is not None
    assert found.name == "south"
    assert population.node_with_key("") is None
    assert population.node_with_key(f"{KEY}C") is None


def test_declared_examples_are_the_sizes_that_means_are_weighted_by() -> None:
    population = read_population({"north": {"users": 2, "examples": [5, 9]}})
    assert population.declares_examples
    assert population.roster((3,), 2).sizes.tolist() == [5, 9]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "must be a table"),
        ({}, "must be a table"),
        ({"north": 3}, "node north must be a table"),
        ({"north": {}}, "users of node north must be a number or a list"),
        ({"north": {"users": True}}, "users of node north must be a number"),
        ({"north": {"users": 0}}, "must be at least 1"),
        ({"north": {"users": []}}, "at least one user"),
        ({"north": {"users": ["a", "a"]}}, "name every user once"),
        ({"north": {"users": 2, "examples": [1]}}, "for each of 2 users, got 1"),
        ({"north": {"users": 1, "examples": [0]}}, "must be at least 1, got 0"),
        ({"north": {"users": 1, "key": 3}}, "key of node north must be text"),
        ({"north": {"users": 1, "keys": ""}}, "did you mean 'key'"),
        ({"a": {"users": 1, "key": KEY}, "b": {"users": 1, "key": KEY + " x"}}, "a key of its own"),
        ({"a": {"users": 1, "key": KEY}, "b": {"users": 1}}, "for all nodes or, in a simulation"),
        ({"a": {"users": 1, "examples": [3]}, "b": {"users": 1}}, "for all nodes or for none"),
    ],
)
def test_a_population_that_is_not_clear_is_refused(content: Any, says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        read_population(content)


def test_the_digest_follows_users_and_not_keys() -> None:
    one = Population(nodes=(DeclaredNode(name="a", users=("x",), key="k 1"),))
    rotated = Population(nodes=(DeclaredNode(name="a", users=("x",), key="k 2"),))
    other = Population(nodes=(DeclaredNode(name="a", users=("x", "y"), key="k 1"),))
    assert one.digest == rotated.digest != other.digest
