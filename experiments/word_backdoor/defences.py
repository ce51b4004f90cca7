"""The defences, all with the same local training, and how much attackers scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bloggers import Size

import fedward
from fedward.core.algorithm import Algorithm

LEARNING_RATE = 2.0
CLIP_BOUND = 1.0
WEAK_NOISE = 0.001
FACTOR = 5.0  # γ: attackers scale what they have trained; clipping takes it away
presets = fedward.presets


def _parts(size: Size) -> dict[str, Any]:
    return {
        "sampler": fedward.PoissonSampler(rate=size.cohort / size.users),
        "local": fedward.SGD(learning_rate=LEARNING_RATE, batch_size=40, epochs=1),
    }


def _clipped(size: Size) -> dict[str, Any]:
    return _parts(size) | {"num_users": size.users, "clip_bound": CLIP_BOUND}


def _user_dp(noise: float) -> Callable[[Size], Algorithm]:
    return lambda size: presets.user_dp_fedavg(**_clipped(size), noise_multiplier=noise)


DEFENCES: dict[str, Callable[[Size], Algorithm]] = {
    "none": lambda size: presets.fedavg(**_parts(size)),
    "norm bounding": lambda size: presets.norm_bounding(**_clipped(size)),
    "weak DP": lambda size: presets.weak_dp(**_clipped(size), noise_std=WEAK_NOISE),
    "user DP, z = 0.3": _user_dp(0.3),
    "user DP, z = 1": _user_dp(1.0),
    "user DP, z = 3": _user_dp(3.0),
}
