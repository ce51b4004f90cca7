"""Trainings under attack, and the same without one."""

from __future__ import annotations

from torch import nn

import fedward
from fedward.attacks.attack import Staged
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.types import RoundLog, ServerState


def train_under(
    staged: Staged | None,
    algorithm: Algorithm,
    model: nn.Module,
    federation: Federation,
    *,
    rounds: int,
    state: ServerState | None = None,
) -> list[tuple[ServerState, RoundLog]]:
    """Every round of a training under attack, or without one."""
    return list(
        fedward.rounds(
            staged.algorithm if staged else algorithm,
            model,
            staged.federation if staged else federation,
            rounds=rounds,
            seed=1,
            adversary=staged.adversary if staged else None,
            state=state,
        )
    )
