"""Rounds as a watching rule sees them, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.aggregation import WatchingRule
from fedward.core.types import Memory, Watched


def rows_of(values: Any) -> list[Tensor]:
    """One float32 row for each row of an array."""
    return [torch.as_tensor(np.asarray(row, dtype=np.float32)) for row in values]


def normal_rows(count: int, size: int, seed: int = 0, mean: float = 0.0) -> list[Tensor]:
    rng = np.random.default_rng(seed)
    return rows_of(mean + rng.normal(size=(count, size)))


def watch(
    rule: WatchingRule,
    rows: Sequence[Tensor],
    *,
    memory: Memory | None = None,
    users: Sequence[int] | None = None,
    round: int = 0,
    parameters: Tensor | None = None,
    seed: int = 0,
) -> tuple[Tensor, Memory]:
    """One round; what the rule was given must be as it was."""
    start = torch.zeros_like(rows[0]) if parameters is None else parameters
    held = rule.first_memory(start) if memory is None else memory
    before = [each.clone() for each in (*rows, *held, start)]
    watched = Watched(
        round=round,
        users=tuple(range(len(rows)) if users is None else users),
        parameters=start,
        memory=held,
        rng=np.random.default_rng(seed),
    )
    result, after = rule.combine_watched(list(rows), watched)
    assert all(torch.equal(old, new) for old, new in zip(before, (*rows, *held, start), strict=True))
    assert result.dtype == torch.float64
    assert all(type(each) is Tensor for each in after)
    return result, after
