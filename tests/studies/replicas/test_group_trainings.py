from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fedward
from fedward.base.arrays_file import read_array
from fedward.base.validate import InvalidValue
from fedward.certificates.others import DisjointGroups, Groups, RandomGroups
from fedward.config.experiment import from_content
from fedward.core.federation import Federation
from fedward.rundir.replica_store import stored_files
from fedward.studies.replicas.group_trainings import GroupTrainings
from fedward.studies.replicas.replica_results import load_group_votes
from fedward.studies.replicas.replica_study import ReplicaRun
from fedward.studies.training.setup import Setup, prepare
from studies.replicas_wanted import go

CONTENT: dict[str, Any] = {
    "seed": 1,
    "rounds": 2,
    "data": {"name": "digits", "users": 12},
    "model": {"name": "logistic_regression"},
    "algorithm": {
        "preset": "fedavg",
        "sampler": {"name": "everyone"},
        "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 50, "epochs": 1},
    },
}
BOUNDED = {
    "preset": "norm_bounding",
    "clip_bound": 0.5,
    "sampler": {"name": "poisson", "rate": 0.6},
    "local": {"name": "sgd", "learning_rate": 0.1, "batch_size": 50, "epochs": 1},
}
FLIPPED = {"name": "label_flip", "target": 1}
G = 4


@pytest.fixture(scope="module")
def federation() -> Federation:
    return fedward.datasets.digits.load(users=12, seed=1)


def setup_of(federation: Federation, **changes: Any) -> Setup:
    return prepare(from_content(CONTENT | changes), federation=federation)


def scores(setup: Setup, by: Groups, path: Path, count: int = G) -> Any:
    groups = GroupTrainings.of(by, setup)
    go(ReplicaRun(variants={"all": setup}, replicas=count, groups=groups), path)
    assert len(load_group_votes(path, "all")) == count
    return np.concatenate([read_array(file, "all/scores") for file in stored_files(path)])


def poisoned(federation: Federation, user: int) -> Federation:
    """Somebody else's data under the same name."""
    examples = federation.examples
    y = examples.y.clone()
    y[int(federation.offsets[user]) : int(federation.offsets[user + 1])] = 7
    return replace(federation, examples=replace(examples, y=y))


def joined(federation: Federation) -> Federation:
    """With a user more, who comes last."""
    first = federation.user(0)
    examples = replace(
        federation.examples,
        x=torch.cat([torch.as_tensor(federation.examples.x), 3 * torch.as_tensor(first.x)]),
        y=torch.cat([federation.examples.y, torch.full_like(first.y, 2)]),
    )
    offsets = torch.cat([federation.offsets, federation.offsets[-1:] + len(first)])
    names = np.append(federation.names, max(federation.names.tolist()) + 1)
    return replace(federation, examples=examples, offsets=offsets, names=names)


@pytest.mark.parametrize("algorithm", [CONTENT["algorithm"], BOUNDED])
def test_an_attacker_changes_the_model_of_its_own_group_and_no_other(
    federation: Federation, tmp_path: Path, algorithm: dict[str, Any]
) -> None:
    """Whether it takes a user's place or joins: not one bit of another group's model moves."""
    by = DisjointGroups(groups=G)
    clean = scores(setup_of(federation, algorithm=algorithm), by, tmp_path / "clean")
    for name, attacked in {"taken": poisoned(federation, 5), "joined": joined(federation)}.items():
        user = 5 if name == "taken" else 12
        group = by.group_of(attacked.names[user], seed=1)
        found = scores(setup_of(attacked, algorithm=algorithm), by, tmp_path / name)
        same = [bool(np.array_equal(found[g], clean[g])) for g in range(G)]
        assert same == [g != group for g in range(G)], name


def test_a_random_group_without_the_attacker_has_the_model_that_it_always_had(
    federation: Federation, tmp_path: Path
) -> None:
    by, count = RandomGroups(size=4), 12
    groups = GroupTrainings.of(by, setup_of(federation))
    members = [groups.members(model, "") for model in range(count)]
    clean = scores(setup_of(federation), by, tmp_path / "clean", count)
    found = scores(setup_of(poisoned(federation, 5)), by, tmp_path / "taken", count)
    untouched = [5 not in group for group in members]
    assert 0 < sum(untouched) < count
    assert [bool(np.array_equal(a, b)) for a, b in zip(found, clean, strict=True)] == untouched


def test_a_group_trains_as_if_nobody_else_were_there(federation: Federation, tmp_path: Path) -> None:
    """Its divisor is its own: the file's declared number of users, and all the others, have no part in it."""
    setup = setup_of(federation, algorithm=BOUNDED, privacy={"users": 500})
    groups = GroupTrainings.of(DisjointGroups(groups=G), setup)
    for g in range(G):
        made = groups.algorithm(setup, g, "")
        size = len(groups.members(g, ""))
        assert made.aggregator.divisor == pytest.approx(0.6 * max(1, size))
        assert made.sampler.expected_size(12) == pytest.approx(0.6 * size)


def test_a_group_without_users_keeps_the_model_that_all_begin_with(
    federation: Federation, tmp_path: Path
) -> None:
    by, setup = DisjointGroups(groups=40), setup_of(federation)
    members = GroupTrainings.of(by, setup).members
    empty = [g for g in range(40) if not members(g, "")]
    found = scores(setup, by, tmp_path, 40)
    assert len(empty) > 10
    for g in empty[1:]:
        assert np.array_equal(found[g], found[empty[0]])


def test_groups_that_were_killed_go_on_to_the_same_bits(federation: Federation, tmp_path: Path) -> None:
    by, setup = DisjointGroups(groups=G), setup_of(federation)
    whole = scores(setup, by, tmp_path / "whole")
    run = ReplicaRun(variants={"all": setup}, replicas=G, groups=GroupTrainings.of(by, setup), block=2)
    for _ in range(6):
        go(run, tmp_path / "killed", stop=3)
    go(run, tmp_path / "killed")
    found = np.concatenate([read_array(file, "all/scores") for file in stored_files(tmp_path / "killed")])
    assert np.array_equal(found, whole)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"algorithm": BOUNDED | {"sampler": {"name": "fixed_size", "size": 12}}}, "as the experiment says"),
        ({"privacy": {"budget": 1.0}}, "no ε, and so no budget"),
        (
            {
                "attack": {
                    "who": {"name": "random", "count": 1},
                    "data": [{"name": "label_flip", "target": 1}],
                }
            },
            r"without attackers, got an \[attack\] table",
        ),
    ],
)
def test_what_would_reach_over_the_groups_is_refused(
    federation: Federation, changes: dict[str, Any], said: str
) -> None:
    if "budget" in said:
        private = {
            "preset": "user_dp_fedavg",
            "clip_bound": 1.0,
            "noise_multiplier": 20.0,
            "sampler": {"name": "everyone"},
            "local": CONTENT["algorithm"]["local"],
        }
        changes = changes | {"algorithm": private}
    setup = setup_of(federation, **changes)
    with pytest.raises(InvalidValue, match=said):
        GroupTrainings.of(DisjointGroups(groups=G), setup)
