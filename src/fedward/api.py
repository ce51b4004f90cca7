"""Training with sensible defaults: ``fedward.train``."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn

from fedward.backends import InProcess
from fedward.core.algorithm import Algorithm
from fedward.core.federation import Federation
from fedward.core.train import train as train_with
from fedward.core.types import Adversary, Backend, RoundLog, ServerState
from fedward.privacy.budget import Budget


def train(
    algorithm: Algorithm,
    model: nn.Module,
    federation: Federation,
    *,
    rounds: int,
    seed: int,
    replica: int = 0,
    state: ServerState | None = None,
    adversary: Adversary | None = None,
    budget: Budget | None = None,
    backend: Backend | None = None,
) -> Iterator[tuple[ServerState, RoundLog]]:
    """``fedward.core.train.train`` in this process, unless another backend is given."""
    return train_with(
        algorithm,
        model,
        federation,
        backend or InProcess(model, federation),
        rounds=rounds,
        seed=seed,
        replica=replica,
        state=state,
        adversary=adversary,
        budget=budget,
    )
