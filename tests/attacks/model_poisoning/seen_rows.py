"""Sights with rows of the attackers and of honest users, and the row that an attacker sends."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.core.types import Sight

RNG = np.random.default_rng(0)
HONEST = RNG.normal(size=(7, 5)).astype(np.float32)
OWN = (2 + 3 * RNG.normal(size=(3, 5))).astype(np.float32)


def seen(own: Any = OWN, honest: Any = HONEST, *, start: Any = None, bounds: tuple[float, ...] = ()) -> Sight:
    """What attackers see who know the cohort, or with ``honest=None`` those who do not."""
    rows = torch.as_tensor(own)
    others = None if honest is None else torch.as_tensor(honest)
    return Sight(
        round=0,
        parameters=torch.zeros(rows.shape[1]) if start is None else torch.as_tensor(start),
        bounds=bounds,
        own=dict(enumerate(rows)),
        cohort=None if others is None else tuple(range(len(rows) + len(others))),
        honest=others,
        honest_users=() if others is None else tuple(range(100, 100 + len(others))),
    )


def sent(part: Any, sight: Sight, user: int = 0, seed: int = 0) -> Tensor:
    """What the attacker of that number sends."""
    row: Tensor = part.tamper(sight.own[user].clone(), sight, np.random.default_rng(seed))
    return row
