"""The rows that an attacker computes with: those that it may see and that the server would not reject."""

from __future__ import annotations

import torch
from torch import Tensor

from fedward.base.validate import InvalidValue
from fedward.core.types import Sight


def own_rows(update: Tensor, sight: Sight) -> Tensor:
    """The finite updates of all attackers in the cohort, one a row; ``update`` alone if there are none.

    >>> sight = Sight(round=0, parameters=torch.zeros(1), bounds=(), own={2: torch.ones(1)})
    >>> own_rows(torch.ones(1), sight)
    tensor([[1.]])
    """
    rows = _finite(torch.stack(list(sight.own.values()))) if sight.own else update[None]
    return rows if len(rows) else update[None]


def honest_rows(sight: Sight, attack: str) -> Tensor:
    """The finite updates of all other users in the cohort, one a row; refused if they may not be seen."""
    if sight.honest is None:
        raise InvalidValue(
            f"{attack} needs attackers that know the cohort and all honest rows, got some that know their "
            "own rows only"
        )
    return _finite(sight.honest)


def known_rows(update: Tensor, sight: Sight) -> Tensor:
    """The honest rows where they may be seen and there are any; otherwise those of the attackers."""
    honest = None if sight.honest is None else _finite(sight.honest)
    return honest if honest is not None and len(honest) else own_rows(update, sight)


def _finite(rows: Tensor) -> Tensor:
    return rows[torch.isfinite(rows).all(dim=1)]
