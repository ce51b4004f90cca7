"""Malicious nodes, staged: an attack of ours carried out by all users of a node, where their data is."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import torch

from fedward.attacks import Attack
from fedward.attacks.attacker import Attacker
from fedward.attacks.poisoning.unprepared import Unfitted, ready
from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation


def stage(attack: Attack, users: Mapping[str, Examples], num_classes: int) -> Attacker:
    """The attacker that the users of this node are: they know their own data and rows, and nobody else's.

    ``attack.who`` does not matter: every user of a node that attacks is an attacker. Examples that an attack
    holds out of honest users elsewhere are not handed over: a node has its own data only.
    """
    if attack.knowledge != "own":
        raise InvalidValue(
            "attackers at a node know their own users only, got knowledge = 'cohort': stage that in a "
            "simulation"
        )
    federation = _federation(users, num_classes)
    for poisoning in attack.data:
        poisoning.check(federation, len(users))
        if isinstance(poisoning, Unfitted):
            raise InvalidValue(
                f"{poisoning} is fitted to the model, which a node cannot stage: stage that in a simulation"
            )
    return Attacker(
        users=frozenset(range(len(users))),
        knowledge="own",
        rounds=attack.rounds,
        data=tuple(ready(part, federation) for part in attack.data),
        model=attack.model,
    )


def _federation(users: Mapping[str, Examples], num_classes: int) -> Federation:
    own = list(users.values())
    sizes = [len(each) for each in own]
    first = own[0].x
    x = (
        Ragged.from_sequences([row for each in own for row in _sequences(each)])
        if isinstance(first, Ragged)
        else torch.cat([torch.as_tensor(each.x) for each in own])
    )
    return Federation.from_arrays(
        x,
        torch.cat([each.y for each in own]),
        np.repeat(np.arange(len(own)), sizes),
        num_classes=num_classes,
    )


def _sequences(examples: Examples) -> list[torch.Tensor]:
    x = examples.x
    assert isinstance(x, Ragged)
    bounds = x.offsets.tolist()
    return [x.values[start:stop] for start, stop in itertools.pairwise(bounds)]
