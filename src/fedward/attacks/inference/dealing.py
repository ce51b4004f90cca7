"""Data dealt as in Miao et al.: only the attacker and the victim own examples with the property."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.attacks.inference.streams import stream_of
from fedward.base.validate import InvalidType, InvalidValue, whole
from fedward.core.federation import Federation


def require_property(federation: Federation, has_property: Any) -> Tensor:
    """A property of each training example, as a bool tensor; refused if it is not one."""
    found = torch.as_tensor(has_property)
    if found.dtype != torch.bool:
        raise InvalidType(f"property must be true or false for each example, got {found.dtype}")
    if found.shape != (len(federation.examples),):
        raise InvalidValue(
            f"property must be one value for each of {len(federation.examples)} training examples, "
            f"got shape {tuple(found.shape)}"
        )
    return found


def deal(
    federation: Federation, has_property: Any, *, users: int, seed: int, attacker: int = 0, victim: int = 1
) -> tuple[Federation, Tensor]:
    """All training examples dealt anew to so many users, in equal numbers, and their property.

    Half of the examples with the property go to the attacker and half to the victim, at most so many that
    half of what each owns is without it; what is left over belongs to nobody. Others own none with it.

    Args:
      federation: whose examples are dealt; who owned them before does not matter.
      has_property: a bool for each of its training examples.
      users: N, attacker and victim included.
      seed: of the dealing.
      attacker, victim: their numbers.

    >>> x = np.zeros((60, 2), np.float32)
    >>> whole_data = Federation.from_arrays(x, np.arange(60) % 2, np.arange(60))
    >>> dealt, having = deal(whole_data, np.arange(60) < 12, users=3, seed=0)
    >>> dealt.sizes.tolist(), [int(having[a:a + 20].sum()) for a in (0, 20, 40)]
    ([20, 20, 20], [6, 6, 0])

    Miao et al., section 5.3.
    """
    having = require_property(federation, has_property).numpy()
    whole("number of users", users, at_least=2)
    two_users(attacker, victim, users)
    rng = stream_of(seed, "dealing")
    own = len(having) // users
    with_it, without = rng.permutation(np.flatnonzero(having)), rng.permutation(np.flatnonzero(~having))
    each = min(len(with_it) // 2, own // 2)
    if each < 1:
        raise InvalidValue(
            "attacker and victim need at least one example with the property each, and as many without it: "
            f"got {len(with_it)} with the property among {len(having)} examples of {users} users"
        )
    # Where the property is frequent there may be too few examples without it to fill everybody up.
    own = min(own, (len(without) + 2 * each) // users)
    hands = {}
    for place, user in enumerate((attacker, victim, *set(range(users)) - {attacker, victim})):
        given, with_it = np.split(with_it, [each if place < 2 else 0])
        rest, without = np.split(without, [own - len(given)])
        hands[user] = rng.permutation(np.concatenate([given, rest]))
    order = torch.from_numpy(np.concatenate([hands[user] for user in range(users)]))
    dealt = replace(
        federation,
        examples=federation.examples.select(order),
        offsets=torch.arange(users + 1) * own,
        names=np.arange(users),
    )
    return dealt, torch.from_numpy(having)[order]


def two_users(attacker: int, victim: int, users: int) -> None:
    """Attacker and victim must be two of the users."""
    for name, user in (("attacker", attacker), ("victim", victim)):
        if whole(name, user, at_least=0) >= users:
            raise InvalidValue(f"{name} must be a user from 0 to {users - 1}, got {user}")
    if attacker == victim:
        raise InvalidValue(f"attacker and victim must be two users, got {attacker} for both")
