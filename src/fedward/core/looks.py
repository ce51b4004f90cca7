"""Looks of a clip policy at private norms, and how far a neighbouring federation moves them."""

from __future__ import annotations

from fedward.base.validate import InvalidType, InvalidValue, positive
from fedward.core.parts import ClipPolicy
from fedward.privacy.events import Adjacency


def look_moves(policy: ClipPolicy, adjacency: Adjacency) -> float:
    """How many times as far as one user added or removed a neighbour moves the policy's looks."""
    if adjacency in ("add/remove", "zero-out"):
        return 1.0
    try:
        moves = positive("replaced_moves of the clip policy", policy.replaced_moves)
    except AttributeError as error:
        if error.name != "replaced_moves":  # a fault inside of it
            raise
        raise InvalidType(
            f"replaced_moves must be declared by {policy}, which looks at norms, got nothing: how many times "
            "as far one user replaced moves a look as one added or removed; 2 always holds"
        ) from error
    if moves > 2:
        raise InvalidValue(f"replaced_moves must be at most 2, which always holds, got {moves}")
    return moves
