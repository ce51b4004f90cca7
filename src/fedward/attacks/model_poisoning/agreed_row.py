"""The row that all attackers of a round agree on, computed once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from torch import Tensor

from fedward.core.types import Sight

_Agreed = TypeVar("_Agreed")


def agreed(part: Hashable, sight: Sight, compute: Callable[[], _Agreed]) -> _Agreed:
    """What ``compute`` makes of the sight for this part, from the first attacker that asked.

    What follows from the sight alone is the same for all attackers: without this a search over the server's
    rule would be done once for each of them.
    """
    if not sight.own:  # what then stands for the attackers' rows is different for each of them
        return compute()
    if part not in sight.agreed:
        sight.agreed[part] = compute()
    found: _Agreed = sight.agreed[part]
    return found


def as_sent(row: Tensor, update: Tensor) -> Tensor:
    """A copy of the agreed row, of the type of the update that it replaces."""
    return row.to(update.dtype, copy=True)
