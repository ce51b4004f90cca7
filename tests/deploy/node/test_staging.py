from __future__ import annotations

from pathlib import Path

import pytest
import torch

from deploy.loopback_nodes import Loopback, nodes_of, prepare, run_to_end
from fedward.attacks import Attack, NamedUsers
from fedward.attacks.model_poisoning import Scale
from fedward.attacks.poisoning import LabelFlip
from fedward.base.validate import InvalidValue
from fedward.core.federation import Federation
from fedward.deploy.node.staging import stage
from fedward.rundir import checkpoint

EVERYBODY = NamedUsers(users=("any",))


def last_model(out: Path) -> torch.Tensor:
    return checkpoint.from_bytes((out / "checkpoint.pt").read_bytes(), "run").parameters


def test_all_users_of_a_malicious_node_attack_and_clipping_bounds_what_they_achieve(
    tmp_path: Path, digits_of_12: Federation
) -> None:
    from dataclasses import replace

    attack = Attack(who=EVERYBODY, model=(Scale(factor=1e6),))
    models = []
    for name in ("honest", "attacked"):
        setup = prepare(tmp_path / name, digits_of_12, rounds=1)
        nodes = nodes_of(digits_of_12, setup.model)
        if name == "attacked":
            staged = stage(attack, nodes[100].users, 10)
            assert staged.users == frozenset(range(4))
            nodes[100] = replace(nodes[100], staged=staged)
        run_to_end(setup, Loopback(nodes))
        models.append(last_model(tmp_path / name))
    moved = float((models[0] - models[1]).norm())
    assert 0 < moved <= 2 * 4 / 6 + 1e-6  # four rows within the bound, over the declared cohort


def test_poisoned_data_is_the_attackers_own(tmp_path: Path, digits_of_12: Federation) -> None:
    from dataclasses import replace

    attack = Attack(who=EVERYBODY, data=(LabelFlip(source=3, target=8),))
    setup = prepare(tmp_path / "run", digits_of_12, rounds=1)
    nodes = nodes_of(digits_of_12, setup.model)
    nodes[100] = replace(nodes[100], staged=stage(attack, nodes[100].users, 10))
    before = {name: own.y.clone() for name, own in nodes[100].users.items()}
    run_to_end(setup, Loopback(nodes))
    assert all(torch.equal(own.y, before[name]) for name, own in nodes[100].users.items())


def test_attackers_at_a_node_cannot_know_the_others(digits_of_12: Federation) -> None:
    attack = Attack(who=EVERYBODY, model=(Scale(factor=2.0),), knowledge="cohort")
    with pytest.raises(InvalidValue, match="know their own users only"):
        stage(attack, {"0": digits_of_12.user(0)}, 10)
