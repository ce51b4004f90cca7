"""Advice where an experiment has no noise to certify with: presets that have, and how to switch to one."""

from __future__ import annotations

import shlex

from fedward.config.object_section import ObjectSection
from fedward.studies.training.setup import Setup

# Presets whose trainings have a guarantee about users, and so can be certified.
WITH_NOISE = ("user_dp_fedavg", "central_dp", "clip_norm_decay", "adaptive_clipping")
# Keys of [algorithm] that mean the same under user_dp_fedavg.
_KEPT = {"preset", "sampler", "local", "server", "noise_source"}
_NOISE = {
    "algorithm.preset": "user_dp_fedavg",
    "algorithm.clip_bound": "1.0",
    "algorithm.noise_multiplier": "2.0",
}


def advise_noise(setup: Setup) -> str:
    """Which presets have noise, and the changes that give this experiment the first of them."""
    known = f"Presets with noise that can be certified: {', '.join(WITH_NOISE)}"
    experiment = setup.experiment
    if isinstance(experiment.algorithm, ObjectSection):
        return f"{known}; take one of fedward.presets"
    changes = dict(_NOISE)
    for key in sorted(experiment.algorithm.model_fields_set - _KEPT):
        changes.setdefault(f"algorithm.{key}", "")
    if setup.algorithm.sampler.adjacency != "add/remove":
        changes["algorithm.sampler"] = '{name="poisson",rate=0.1}'
    if experiment.privacy.users is None:
        changes["privacy.users"] = str(setup.federation.num_users)
    told = shlex.join(part for key, value in changes.items() for part in ("--set", f"{key}={value}"))
    return f"{known}. To switch: {told} (fedward plan finds the noise for a wanted k)"
