"""Which values the keys of presets and parts take, for the tables in docs/algorithms.

What a key means is in the docstring of its part. The values here are tried out by the tests: those inside are
taken, those outside refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fedward.aggregation import RULES


class Values(NamedTuple):
    """Which values a key takes: in words, some that are allowed, some that are not."""

    words: str
    inside: tuple[Any, ...]
    outside: tuple[Any, ...]


class Parts(NamedTuple):
    """A table of one of these parts, by name; all of the kind if there are none."""

    kind: str
    names: tuple[str, ...] = ()


ABOVE_0 = Values("a number above 0", (1e-3, 50.0), (0.0, -1.0, "1"))
FROM_0 = Values("a number from 0", (0.0, 2.0), (-0.1,))
RATE = Values("above 0, at most 1", (0.01, 1.0), (0.0, 1.01))
SHARE = Values("above 0, below 1", (0.01, 0.99), (0.0, 1.0))
FRACTION = Values("from 0, below 1", (0.0, 0.99), (-0.1, 1.0))
COUNT = Values("a whole number from 1", (1, 30), (0, 1.5))
COUNT_FROM_0 = Values("a whole number from 0", (0, 5), (-1, 1.5))
SWITCH = Values("`true`, `false`", (True, False), ("yes", 1))
SOURCE = Values("`seeded`, `system`", ("seeded", "system"), ("random",))
BOUND = Values("from 1e-10 to 1e10", (1e-10, 1e10), (0.0, 1e11))

SAMPLER = Parts("sampler")
KNOWN_SIZE = Parts("sampler", ("fixed_size", "everyone"))
ROUND_BY_ROUND = Parts("sampler", ("poisson", "fixed_size", "everyone"))
LOCAL = Parts("local trainer")
DP_SGD = Parts("local trainer", ("dp_sgd",))
SGD = Parts("local trainer", ("sgd",))
SERVER = Parts("server step")
RULE = Parts("aggregator", tuple(RULES))
_BY_USERS = ("fl_trust", "fools_gold", "fl_detector")
MIXABLE = Parts("aggregator", tuple(name for name in RULES if name not in _BY_USERS))
PUBLIC_POLICY = Parts("clip policy", ("fixed", "polynomial"))
PROVEN_POLICY = Parts("clip policy", ("fixed", "polynomial", "norm_decay", "quantile", "histogram_median"))
BOUNDED_POLICY = Parts("clip policy", (*PROVEN_POLICY.names, "raw_median"))

KEYS: dict[str, Values | Parts] = {
    "sampler": SAMPLER,
    "local": LOCAL,
    "server": SERVER,
    "rule": RULE,
    "noise_source": SOURCE,
    "noise_multiplier": ABOVE_0,
    "clip_bound": ABOVE_0,
    "learning_rate": ABOVE_0,
    "learning_rate_decay": RATE,
    "malicious": COUNT_FROM_0,
    "momentum": FRACTION,
    "weight_decay": FROM_0,
    "chunk_size": COUNT,
    "initial": ABOVE_0,
    "look_noise": ABOVE_0,
    "preset user_dp_fedavg clip_bound": Values(
        "a number above 0, or a list of them with `per-layer`", (0.001, 50.0), (0.0, -1.0, [], [0.0, 1.0])
    ),
    "preset user_dp_fedavg clip": Values(
        "`flat`, `per-layer`, `median`, `per-layer-median`",
        ("flat", "per-layer", "median", "per-layer-median"),
        ("layers",),
    ),
    "preset user_dp_fedavg policy": BOUNDED_POLICY,
    "noise gaussian multiplier": ABOVE_0,
    "noise gaussian source": SOURCE,
    "preset composed policy": BOUNDED_POLICY,
    "preset composed aggregator": Parts("aggregator", ("mean",)),
    "preset composed mechanism": Parts("noise"),
    "preset central_dp local": SGD,
    "preset clip_norm_decay sampler": ROUND_BY_ROUND,
    "preset adaptive_clipping sampler": ROUND_BY_ROUND,
    "preset clip_norm_decay local": SGD,
    "preset clip_norm_decay initial_bound": ABOVE_0,
    "preset clip_norm_decay decay": RATE,
    "preset clip_norm_decay floor": Values("above 0, at most `initial_bound`", (0.01,), (0.0, 1000000000.0)),
    "preset adaptive_clipping quantile": SHARE,
    "preset adaptive_clipping initial_bound": BOUND,
    "preset adaptive_clipping bit_noise": Values("a number above z/2", (0.6, 50.0), (0.0, 0.5)),
    "preset adaptive_clipping bound_learning_rate": ABOVE_0,
    "preset dp_ftrl rounds": COUNT,
    "preset dp_ftrl separation": COUNT,
    "preset dp_ftrl strategy": Values("`banded`, `blt`", ("banded", "blt"), ("tree",)),
    "preset dp_ftrl bands": Values("a whole number from 1 to `separation`", (1, 2), (0, 10**6)),
    "preset dp_ftrl buffers": Values("a whole number from 1 to 6, with `blt`", (), (0, 7)),
    "preset dp_ftrl decays": Values("a list of up to 6 numbers from 0, below 1, with `blt`", (), ([], [1.0])),
    "preset dp_ftrl participations": Values("at least `rounds` / `separation`", (50,), (0,)),
    "preset dp_ftrl there": RATE,
    "preset dp_ftrl amplified": Values("`false`; `true` where `there` is below 1", (False,), ("yes", 1)),
    "preset weak_dp noise_std": ABOVE_0,
    "preset multi_krum selected": COUNT,
    "preset trimmed_mean trimmed": COUNT_FROM_0,
    "preset geometric_median tolerance": SHARE,
    "preset geometric_median most_steps": COUNT,
    "preset insdp_fedavg local": DP_SGD,
    "preset insdp_fedavg policy": PUBLIC_POLICY,
    "preset local_dp local": DP_SGD,
    "preset local_dp policy": PUBLIC_POLICY,
    "preset insdp_fedsgd sampler": KNOWN_SIZE,
    "preset insdp_fedsgd local": DP_SGD,
    "preset dopamine sampler": KNOWN_SIZE,
    "preset dopamine local": DP_SGD,
    "preset ldp_fedsgd policy": PROVEN_POLICY,
    "sampler poisson rate": RATE,
    "sampler fixed_size size": COUNT,
    "sampler random_allocation epoch": COUNT,
    "sampler everyone adjacency": Values(
        "`add/remove`, `replace-one`", ("add/remove", "replace-one"), ("local",)
    ),
    "local trainer sgd batch_size": COUNT,
    "local trainer sgd epochs": COUNT,
    "local trainer sgd steps": COUNT,
    "local trainer projected_sgd sgd": SGD,
    "local trainer dp_sgd probability": RATE,
    "local trainer dp_sgd expected_batch": ABOVE_0,
    "local trainer dp_sgd steps": COUNT,
    "local trainer dp_sgd per_layer": SWITCH,
    "clip policy fixed clip_bound": Values(
        "a number above 0, or a list of them", (0.001, 50.0, [0.5]), (0.0, [])
    ),
    "clip policy polynomial power": ABOVE_0,
    "clip policy polynomial rounds": COUNT,
    "clip policy norm_decay decay": RATE,
    "clip policy norm_decay floor": Values("above 0, at most `initial`", (0.01,), (0.0, 1000000000.0)),
    "clip policy quantile initial": BOUND,
    "clip policy quantile quantile": SHARE,
    "clip policy quantile bit_noise": ABOVE_0,
    "clip policy histogram_median least": Values("above 0, below `most`", (0.001,), (0.0, 1000000000.0)),
    "clip policy histogram_median most": Values("above `least`", (100.0,), (0.0, 1e-09)),
    "clip policy histogram_median bins": Values("a whole number from 2", (2, 50), (1, 2.5)),
    "clip policy histogram_median every": COUNT,
    "clip policy histogram_median most_looks": COUNT,
    "aggregator multi_krum selected": COUNT,
    "aggregator trimmed_mean trimmed": COUNT_FROM_0,
    "aggregator geometric_median tolerance": SHARE,
    "aggregator geometric_median most_steps": COUNT,
    "aggregator centred_clipping radius": ABOVE_0,
    "aggregator centred_clipping steps": COUNT,
    "aggregator nearest_neighbour_mixing rule": MIXABLE,
    "aggregator bucketing rule": MIXABLE,
    "aggregator bucketing size": COUNT,
    "aggregator divide_and_conquer filtered": ABOVE_0,
    "aggregator divide_and_conquer times": COUNT,
    "aggregator divide_and_conquer coordinates": COUNT,
    "aggregator fl_trust root": COUNT_FROM_0,
    "aggregator fools_gold confidence": ABOVE_0,
    "aggregator fools_gold compared": COUNT,
    "aggregator flame noise": FROM_0,
    "aggregator flame compared": Values("`models`, `updates`", ("models", "updates"), ("rows",)),
    "aggregator robust_learning_rate threshold": COUNT_FROM_0,
    "aggregator robust_learning_rate rule": MIXABLE,
    "aggregator sign_guard lower": Values("from 0, at most `upper`", (0.0, 1.0), (-0.1, 1000000000.0)),
    "aggregator sign_guard upper": Values("at least `lower`", (1.0, 50.0), (0.0, 1e-09)),
    "aggregator sign_guard share": RATE,
    "aggregator fl_detector window": COUNT,
    "server step adam beta1": FRACTION,
    "server step adam beta2": FRACTION,
    "server step adam tau": ABOVE_0,
    "server step averaging first": COUNT_FROM_0,
    "server step averaging last": COUNT,
    "server step shrinkage noise_std": ABOVE_0,
    "server step shrinkage threshold": FROM_0,
    "server step model_clipping norm": ABOVE_0,
    "server step projection directions": Values("the path of a .npy file", (), ("two\nlines", 1)),
    "server step projection source": Values("one line of text", ("public tweets",), ("two\nlines", 1)),
    "server step projection source_labels": SWITCH,
}


def of(kind: str, name: str, key: str) -> Values | Parts:
    """The values of a key: of this very part, or else of all keys of that name."""
    return KEYS.get(f"{kind} {name} {key}") or KEYS[key]
