"""Usual values of the keys in a starter file."""

from __future__ import annotations

from typing import Any

SGD: dict[str, Any] = {
    "name": "sgd",
    "learning_rate": 0.1,
    "batch_size": 8,
    "epochs": 4,
    "momentum": 0.9,
}
DP_SGD: dict[str, Any] = {
    "name": "dp_sgd",
    "learning_rate": 0.5,
    "probability": 0.1,
    "expected_batch": 15.0,
    "steps": 10,
    "noise_multiplier": 1.5,
    "clip_bound": 1.0,
}
_ONE_STEP = {"sampler": {"name": "fixed_size", "size": 5}, "local": DP_SGD | {"steps": 1}}

USUAL: dict[str, Any] = {
    "sampler": {"name": "poisson", "rate": 0.5},
    "clip_bound": 1.0,
    "noise_multiplier": 2.0,
    "noise_std": 0.01,
    "initial_bound": 1.0,
    "decay": 0.99,
    "malicious": 2,
    "trimmed": 2,
    "rule": {"name": "krum", "malicious": 2},
    "learning_rate": 0.5,
    "factor": 5.0,
    "std": 0.1,
    "target": 0,
    "pattern": {"name": "square", "size": 2},
    "feature": {"name": "bold_digit", "label": 7, "ink": 0.33},
    "folder": "pictures",
    "file": "table.csv",
    "epoch": 5,
}
"""Of keys that have no default, whatever they belong to."""

OWN: dict[str, dict[str, Any]] = {
    "insdp_fedsgd": _ONE_STEP,
    "dopamine": _ONE_STEP,
    "composed": {
        "policy": {"name": "fixed", "clip_bound": 1.0},
        "aggregator": {"name": "mean"},
        "mechanism": {"name": "gaussian", "multiplier": 2.0},
    },
    "dp_ftrl": {"rounds": 30, "separation": 6, "noise_multiplier": 6.0},
    "constrain_and_scale": {"norm": 1.0},
    "fang_trimmed_mean": {"factor": 2.0},
    "inner_product": {"factor": 0.5},
    "edge_case": {"source": 7, "target": 1},
    "distributed": {"pattern": {"name": "square", "size": 4}},
    "single_pixel": {"target": 0, "fraction": 0.5},
}
"""Of one preset or part, where the usual ones do not fit."""

OPTIONAL: dict[str, Any] = {
    "clip_bound": 1.0,
    "policy": {"name": "polynomial", "initial": 1.0, "power": 1.0, "rounds": 60},
    "server": {"name": "momentum", "learning_rate": 1.0, "momentum": 0.9},
    "bands": 6,
    "buffers": 3,
    "decays": [0.99, 0.7],
    "participations": 10,
    "selected": 10,
    "floor": 0.05,
    "bit_noise": 5.0,
    "users": 100,
    "alpha": 0.5,
    "classes": [0, 1],
    "size": [32, 32],
    "colour": "rgb",
    "at_most": 200,
    "longest": 40,
    "norm": 1.0,
    "source": 1,
    "steps": 10,
    "weights": "weights.pt",
    "data_dir": "DIR",
}
"""Of keys that stand for nothing if they are not given: values that show their form."""

USERS, ATTACKERS = 100, 10
"""Numbers of users that share the built-in data, and of those among them that attack."""

FEW_USERS, FEW_ATTACKERS = 10, 2
"""The same where users protect their own examples: each then needs more of them."""

ANY_MODEL = "logistic_regression"
"""For data sets that are not named below."""

MODEL_FOR: dict[str, str] = {
    "cifar10": "cifar_cnn",
    "cifar100": "cifar_cnn",
    "digits": "digits_cnn",
    "emnist": "emnist_cnn",
    "fashion_mnist": "mnist_cnn",
    "lfw": "lfw_cnn",
    "mnist": "mnist_cnn",
    "next_word": "word_lstm",
    "sentiment140": "sentiment_lstm",
    "table": "mlp",
}
ATTACK_FOR: dict[str, str] = {
    "next_word": "word",
    "sentiment140": "label_flip",
    "synthetic": "label_flip",
    "table": "label_flip",
}
"""All others are pictures."""

ATTACK: dict[str, Any] = {
    "model": [{"name": "scale", "factor": 5.0}],
    "knowledge": "own",
    "rounds": [10, 20],
    "test_share": 0.2,
}
PRIVACY: dict[str, Any] = {"delta": 1e-3, "accountant": "pld", "budget": 10.0}
"""Of optional keys of [attack] and [privacy]: values that show their form."""

SEE_COHORT = frozenset(
    {
        "a_little_is_enough",
        "inner_product",
        "optimised_a_little",
        "optimised_inner_product",
        "mimic",
        "adaptive_backdoor",
    }
)
"""Attacks on updates that, with the values above, need to know the updates of others."""

NO_NOISE = frozenset(
    {
        *("fedavg", "fedsgd", "norm_bounding"),
        *("krum", "multi_krum", "median", "trimmed_mean", "geometric_median", "bulyan", "robust"),
    }
)
"""Presets without a guarantee of privacy, because they add no noise."""
