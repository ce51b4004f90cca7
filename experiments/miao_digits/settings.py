"""What is trained: weight decays, and defences, with the paper's parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fedward
from fedward.core.algorithm import Algorithm

USERS, COHORT, DELTA = 100, 20, 1e-5
DECAYS = (0.0, 1e-4, 5e-4, 1e-3, 5e-3)
ATTACKERS = (4, 8)
DEFENCES: dict[str, Callable[..., Algorithm]] = {
    "none": fedward.presets.fedavg,
    "Norm Bounding": fedward.presets.norm_bounding,
    "Weak DP": fedward.presets.weak_dp,
    "Krum": fedward.presets.krum,
    "Median": fedward.presets.median,
    "CND": fedward.presets.clip_norm_decay,
}
PARAMETERS: dict[str, dict[str, Any]] = {
    "Norm Bounding": {"num_users": USERS, "clip_bound": 0.2},
    "Weak DP": {"num_users": USERS, "clip_bound": 0.2, "noise_std": 0.001},
    # As many as the paper supposes, with 4 attackers as with 8.
    "Krum": {"malicious": 8},
    # The paper does not say γ.
    "CND": {
        "num_users": USERS,
        "initial_bound": 0.1,
        "decay": 0.99,
        "noise_multiplier": 4.0,
        "look_noise": 3.5,
    },
}


def decayed(decay: float) -> str:
    """The name of a setting of table 2; without weight decay it is one of figure 9's."""
    return f"weight decay {decay:g}, 4 of 20" if decay else defended("none", 4)


def defended(defence: str, each: int) -> str:
    """The name of a setting of figure 9."""
    return f"{defence}, {each} of 20"


def algorithm(defence: str, rate: float, rate_decay: float, decay: float = 0.0) -> Algorithm:
    local = fedward.SGD(
        learning_rate=rate, learning_rate_decay=rate_decay, batch_size=20, epochs=5, weight_decay=decay
    )
    sampler = fedward.FixedSizeSampler(size=COHORT)
    return DEFENCES[defence](sampler=sampler, local=local, **PARAMETERS.get(defence, {}))


def settings(study: str, rate: float, rate_decay: float) -> dict[str, tuple[Algorithm, int]]:
    """What each setting trains with, and how many of a cohort attack."""
    found: dict[str, tuple[Algorithm, int]] = {}
    if study != "figure_9":
        for decay in DECAYS:
            found[decayed(decay)] = algorithm("none", rate, rate_decay, decay), 4
    if study != "table_2":
        for each in ATTACKERS:
            for defence in DEFENCES:
                found[defended(defence, each)] = algorithm(defence, rate, rate_decay), each
    return found


def spent(rounds: int) -> dict[str, str]:
    """ε of the whole training as the papers account for it, and with a proof for fixed-size cohorts."""
    found = {}
    for defence in DEFENCES:
        made = algorithm(defence, 0.1, 1.0)
        if made.unproven:
            found[defence] = "no guarantee"
        else:
            both = [made.guarantee(USERS, rounds, DELTA, by).epsilon for by in ("moments", "rdp")]
            found[defence] = " / ".join(f"{e:.2f}" if e < 1000 else f"{e:,.0f}" for e in both)
    return found
