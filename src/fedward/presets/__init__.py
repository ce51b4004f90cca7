"""Each published algorithm as a composition of parts, named after its paper.

Keys that many presets share mean the same in all of them, unless the preset says otherwise:

Args:
  sampler: who takes part in a round.
  local: what a user does with the model.
  server: what the server does with the mean. It is added to the model if not given.
  clip_bound: S: the longest that an update may be; longer ones are cut to it.
  noise_multiplier: z: noise for each unit of the clip bound; more is more private. It is the papers' σ: noise
    on the sum has standard deviation z times the bound.
  noise_source: ``system`` where data really is private; ``seeded`` can be repeated. Noise and cohorts come
    from it; seeded noise is for research only.
  malicious: f: how many bad updates a round may hold.
"""

from __future__ import annotations

from collections.abc import Callable

from fedward.core.algorithm import Algorithm
from fedward.presets.adaptive_clipping import adaptive_clipping
from fedward.presets.averaging import fedavg, fedsgd
from fedward.presets.central_dp import central_dp, clip_norm_decay
from fedward.presets.composed import composed
from fedward.presets.dp_ftrl import dp_ftrl
from fedward.presets.local_privacy import dopamine, insdp_fedavg, insdp_fedsgd, ldp_fedsgd, local_dp
from fedward.presets.norm_bounding import norm_bounding, weak_dp
from fedward.presets.robust import bulyan, geometric_median, krum, median, multi_krum, robust, trimmed_mean
from fedward.presets.user_dp_fedavg import user_dp_fedavg

PRESETS: dict[str, Callable[..., Algorithm]] = {
    "fedavg": fedavg,
    "fedsgd": fedsgd,
    "user_dp_fedavg": user_dp_fedavg,
    "central_dp": central_dp,
    "clip_norm_decay": clip_norm_decay,
    "adaptive_clipping": adaptive_clipping,
    "dp_ftrl": dp_ftrl,
    "norm_bounding": norm_bounding,
    "weak_dp": weak_dp,
    "krum": krum,
    "multi_krum": multi_krum,
    "median": median,
    "trimmed_mean": trimmed_mean,
    "geometric_median": geometric_median,
    "bulyan": bulyan,
    "robust": robust,
    "composed": composed,
    "insdp_fedavg": insdp_fedavg,
    "insdp_fedsgd": insdp_fedsgd,
    "dopamine": dopamine,
    "local_dp": local_dp,
    "ldp_fedsgd": ldp_fedsgd,
}
"""The presets, by the names that experiment files use."""

__all__ = [
    "PRESETS",
    "adaptive_clipping",
    "bulyan",
    "central_dp",
    "clip_norm_decay",
    "composed",
    "dopamine",
    "dp_ftrl",
    "fedavg",
    "fedsgd",
    "geometric_median",
    "insdp_fedavg",
    "insdp_fedsgd",
    "krum",
    "ldp_fedsgd",
    "local_dp",
    "median",
    "multi_krum",
    "norm_bounding",
    "robust",
    "trimmed_mean",
    "user_dp_fedavg",
    "weak_dp",
]
