"""The server's optimisers: what is done with the noisy mean, all of it post-processing and free of charge."""

from __future__ import annotations

from fedward.core.types import ServerOptimizer
from fedward.server.adam import ServerAdam
from fedward.server.averaging import ServerAveraging
from fedward.server.model_clipping import ServerModelClipping
from fedward.server.momentum import ServerMomentum
from fedward.server.projection import ServerProjection
from fedward.server.shrinkage import ServerShrinkage
from fedward.server.step import ServerStep

SERVERS: dict[str, type[ServerOptimizer]] = {
    "step": ServerStep,
    "momentum": ServerMomentum,
    "adam": ServerAdam,
    "averaging": ServerAveraging,
    "shrinkage": ServerShrinkage,
    "projection": ServerProjection,
    "model_clipping": ServerModelClipping,
}
"""The server's steps, by the names that experiment files use."""

__all__ = [
    "SERVERS",
    "ServerAdam",
    "ServerAveraging",
    "ServerModelClipping",
    "ServerMomentum",
    "ServerProjection",
    "ServerShrinkage",
    "ServerStep",
]
