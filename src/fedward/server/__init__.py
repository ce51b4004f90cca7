"""The server's optimisers: what is done with the noisy mean, all of it post-processing and free of charge."""

from __future__ import annotations

from fedward.core.types import ServerOptimizer
from fedward.server.adam import ServerAdam
from fedward.server.momentum import ServerMomentum
from fedward.server.step import ServerStep

SERVERS: dict[str, type[ServerOptimizer]] = {
    "step": ServerStep,
    "momentum": ServerMomentum,
    "adam": ServerAdam,
}

__all__ = ["SERVERS", "ServerAdam", "ServerMomentum", "ServerStep"]
