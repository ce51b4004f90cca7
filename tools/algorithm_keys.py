"""What the keys of presets and parts mean and which values they take, for the tables in docs/algorithms.

The values beside the words are tried out by the tests: those inside are taken, those outside refused.
"""

from __future__ import annotations

from typing import Any, NamedTuple


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
LOCAL = Parts("local trainer")
DP_SGD = Parts("local trainer", ("dp_sgd",))
SGD = Parts("local trainer", ("sgd",))
SERVER = Parts("server step")
PUBLIC_POLICY = Parts("clip policy", ("fixed", "polynomial"))
PROVEN_POLICY = Parts("clip policy", ("fixed", "polynomial", "norm_decay", "quantile", "histogram_median"))
BOUNDED_POLICY = Parts("clip policy", (*PROVEN_POLICY.names, "raw_median"))

_CLIPPED_FIRST = "every update is clipped to it before the rule sees it; nothing is clipped if not given"
_BAD_ROWS = "f, how many bad updates a round may hold"
_PROTECTS_ITSELF = "what every user does; the noise that protects is in it"
_PAPER_NOISE = "z, the papers' σ: noise on the sum has standard deviation z times the bound"
_LOOK_NOISE = "z_c, the noise multiplier of each look at the norms"

KEYS: dict[str, tuple[Values | Parts, str]] = {
    "sampler": (SAMPLER, "who takes part in a round"),
    "local": (LOCAL, "what a user does with the model"),
    "server": (SERVER, "what is done with the result; it is added to the model if not given"),
    "noise_source": (SOURCE, "where noise and cohorts come from; `seeded` is for research only"),
    "noise_multiplier": (ABOVE_0, _PAPER_NOISE),
    "clip_bound": (ABOVE_0, "S, the norm that every update is clipped to"),
    "learning_rate": (ABOVE_0, "η"),
    "learning_rate_decay": (RATE, "d: the learning rate of round t is η d^t"),
    "malicious": (COUNT_FROM_0, _BAD_ROWS),
    "momentum": (FRACTION, "μ; it starts from zero in every round"),
    "weight_decay": (FROM_0, "λ"),
    "chunk_size": (COUNT, "how many examples go through the model at once: memory, not the result"),
    "initial": (ABOVE_0, "the bound of round 0"),
    "look_noise": (ABOVE_0, _LOOK_NOISE),
    # Presets.
    "preset fedsgd learning_rate": (ABOVE_0, "η, of the server's step"),
    "preset user_dp_fedavg clip_bound": (
        Values(
            "a number above 0, or a list of them with `per-layer`",
            (1e-3, 50.0),
            (0.0, -1.0, [], [0.0, 1.0]),
        ),
        "S; per layer one for all layers or one for each; with a median the bound of empty cohorts",
    ),
    "preset user_dp_fedavg clip": (
        Values(
            "`flat`, `per-layer`, `median`, `per-layer-median`",
            ("flat", "per-layer", "median", "per-layer-median"),
            ("layers",),
        ),
        "what is clipped, and to which bound; the two medians have no guarantee",
    ),
    "preset user_dp_fedavg policy": (
        BOUNDED_POLICY,
        "how the bound moves, in the place of `clip_bound`; its looks are charged on top of z",
    ),
    "preset central_dp local": (SGD, "the steps; after each the model is projected onto the ball"),
    "preset clip_norm_decay local": (SGD, "the steps; after each the model is projected onto the ball"),
    "preset clip_norm_decay initial_bound": (ABOVE_0, "c⁰, the bound of round 0"),
    "preset clip_norm_decay decay": (RATE, "γ, by which the bound falls in every round"),
    "preset clip_norm_decay noise_multiplier": (ABOVE_0, "z, of the model; looks are charged on top"),
    "preset clip_norm_decay floor": (
        Values("above 0, at most `initial_bound`", (0.01,), (0.0, 1e9)),
        "c_min, public, below which the bound never falls; a hundredth of `initial_bound` if not given",
    ),
    "preset adaptive_clipping noise_multiplier": (ABOVE_0, "z, of model and bits together"),
    "preset adaptive_clipping quantile": (SHARE, "γ, the share of updates that the bound is to leave whole"),
    "preset adaptive_clipping initial_bound": (BOUND, "C_0, the bound of round 0"),
    "preset adaptive_clipping bit_noise": (
        Values("a number above z/2", (0.6, 50.0), (0.0, 0.5)),
        "σ_b, of the noise on the sum of bits; m̄/20 if not given, but never less than 2z",
    ),
    "preset adaptive_clipping bound_learning_rate": (ABOVE_0, "η_C, of the step in logarithms of the bound"),
    "preset weak_dp noise_std": (ABOVE_0, "σ, the standard deviation of the noise *on the mean*"),
    **{
        f"preset {name} clip_bound": (ABOVE_0, _CLIPPED_FIRST)
        for name in ("krum", "multi_krum", "median", "trimmed_mean", "geometric_median", "bulyan")
    },
    "preset multi_krum selected": (COUNT, "m, how many updates are averaged; n - f of n if not given"),
    "preset trimmed_mean trimmed": (COUNT_FROM_0, "b, a number of updates and not a share of them"),
    "preset geometric_median tolerance": (SHARE, "how long the mean unit vector towards the updates may be"),
    "preset geometric_median most_steps": (COUNT, "after so many steps it stops anyway"),
    "preset insdp_fedavg local": (DP_SGD, _PROTECTS_ITSELF),
    "preset insdp_fedavg policy": (PUBLIC_POLICY, "C_t, where `local` has no `clip_bound`"),
    "preset local_dp local": (DP_SGD, _PROTECTS_ITSELF),
    "preset local_dp policy": (PUBLIC_POLICY, "C_t, where `local` has no `clip_bound`"),
    "preset insdp_fedsgd sampler": (KNOWN_SIZE, "cohorts of a known size, whose noise adds up"),
    "preset insdp_fedsgd local": (DP_SGD, "with `steps = 1` and a `clip_bound`"),
    "preset dopamine sampler": (KNOWN_SIZE, "cohorts of a known size, whose noise adds up"),
    "preset dopamine local": (DP_SGD, "with `steps = 1` and a `clip_bound`"),
    "preset ldp_fedsgd noise_multiplier": (ABOVE_0, "z, the paper's σ; the guarantee counts z/2"),
    "preset ldp_fedsgd clip_bound": (ABOVE_0, "C, the norm that every gradient is clipped to"),
    "preset ldp_fedsgd policy": (PROVEN_POLICY, "C_t over rounds, in the place of `clip_bound`"),
    # Samplers.
    "sampler poisson rate": (RATE, "q"),
    "sampler fixed_size size": (COUNT, "m; at most the number of users"),
    "sampler everyone adjacency": (
        Values("`add/remove`, `replace-one`", ("add/remove", "replace-one"), ("local",)),
        "which two federations are neighbours",
    ),
    # Local trainers.
    "local trainer sgd batch_size": (COUNT, "of each step; a user with fewer examples uses all"),
    "local trainer sgd epochs": (COUNT, "or `steps`: exactly one of the two is given"),
    "local trainer sgd steps": (COUNT, "or `epochs`; steps go on into the next shuffle where an epoch ends"),
    "local trainer projected_sgd sgd": (SGD, "the steps"),
    "local trainer dp_sgd probability": (RATE, "p, declared: not computed from private data"),
    "local trainer dp_sgd expected_batch": (ABOVE_0, "L, declared like p: what noisy sums are divided by"),
    "local trainer dp_sgd steps": (COUNT, "V, in every round"),
    "local trainer dp_sgd noise_multiplier": (ABOVE_0, "z: noise on the sum has standard deviation z C"),
    "local trainer dp_sgd clip_bound": (ABOVE_0, "C; the bound of the preset's `policy` if not given"),
    "local trainer dp_sgd noise_source": (SOURCE, "where batches, noise and cohorts come from"),
    "local trainer dp_sgd per_layer": (SWITCH, "clips each of K layers to C/√K: the same noise and ε"),
    "local trainer noisy_gradient noise_multiplier": (ABOVE_0, "z; the guarantee counts z/2"),
    "local trainer noisy_gradient clip_bound": (
        ABOVE_0,
        "C; the bound of the preset's `policy` if not given",
    ),
    # Clip policies.
    "clip policy fixed clip_bound": (
        Values("a number above 0, or a list of them", (1e-3, 50.0, [0.5]), (0.0, [])),
        "S; with per-layer clipping one for all layers, or one for each",
    ),
    "clip policy polynomial power": (ABOVE_0, "1 falls in a straight line, below 1 late, above 1 early"),
    "clip policy polynomial rounds": (COUNT, "T, of the whole training"),
    "clip policy norm_decay decay": (RATE, "γ, by which the bound falls in every round"),
    "clip policy norm_decay floor": (
        Values("above 0, at most `initial`", (0.01,), (0.0, 1e9)),
        "c_min; a hundredth of `initial` if not given",
    ),
    "clip policy quantile initial": (BOUND, "the bound of round 0"),
    "clip policy quantile quantile": (SHARE, "γ"),
    "clip policy quantile bit_noise": (ABOVE_0, "σ_b; about a twentieth of the cohort"),
    "clip policy quantile learning_rate": (ABOVE_0, "η_C, of the step in logarithms of the bound"),
    "clip policy histogram_median least": (
        Values("above 0, below `most`", (0.001,), (0.0, 1e9)),
        "where the bins begin",
    ),
    "clip policy histogram_median most": (
        Values("above `least`", (100.0,), (0.0, 1e-9)),
        "where they end",
    ),
    "clip policy histogram_median bins": (
        Values("a whole number from 2", (2, 50), (1, 2.5)),
        "how many, equally wide in logarithms",
    ),
    "clip policy histogram_median look_noise": (ABOVE_0, "z_h, of the noise on every count"),
    "clip policy histogram_median every": (COUNT, "looks happen in rounds 0, every, 2 every, ..."),
    "clip policy histogram_median most_looks": (COUNT, "after so many the bound stays"),
    "clip policy raw_median initial": (ABOVE_0, "the bound of a round with an empty cohort"),
    # Server steps.
    "server step momentum momentum": (FRACTION, "β"),
    "server step adam beta1": (FRACTION, "β₁"),
    "server step adam beta2": (FRACTION, "β₂"),
    "server step adam tau": (ABOVE_0, "τ"),
}


def of(kind: str, name: str, key: str) -> tuple[Values | Parts, str]:
    """What is said about a key of a part: about that of this very part, or else about all of that name."""
    return KEYS.get(f"{kind} {name} {key}") or KEYS[key]
