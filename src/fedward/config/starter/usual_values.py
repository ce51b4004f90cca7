"""Usual values of the keys in a starter file, and what the keys mean in plain words."""

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
    "learning_rate": 0.5,
    "factor": 5.0,
    "std": 0.1,
    "target": 0,
    "pattern": {"name": "square", "size": 2},
    "feature": {"name": "bold_digit", "label": 7, "ink": 0.33},
    "folder": "pictures",
    "file": "table.csv",
}
"""Of keys that have no default, whatever they belong to."""

OWN: dict[str, dict[str, Any]] = {
    "insdp_fedsgd": _ONE_STEP,
    "dopamine": _ONE_STEP,
    "constrain_and_scale": {"norm": 1.0},
    "inner_product": {"factor": 0.5},
    "distributed": {"pattern": {"name": "square", "size": 4}},
    "single_pixel": {"target": 0, "fraction": 0.5},
}
"""Of one preset or part, where the usual ones do not fit."""

OPTIONAL: dict[str, Any] = {
    "clip_bound": 1.0,
    "policy": {"name": "polynomial", "initial": 1.0, "power": 1.0, "rounds": 60},
    "server": {"name": "momentum", "learning_rate": 1.0, "momentum": 0.9},
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
}
"""Of keys that stand for nothing if they are not given: values that show their form."""

USERS, ATTACKERS = 100, 10
"""Numbers of users that share the built-in data, and of those among them that attack."""

FEW_USERS, FEW_ATTACKERS = 10, 2
"""The same where users protect their own examples: each then needs more of them."""

MODEL_FOR: dict[str, str] = {
    "cifar10": "cifar_cnn",
    "cifar100": "cifar_cnn",
    "digits": "digits_cnn",
    "emnist": "emnist_cnn",
    "fashion_mnist": "mnist_cnn",
    "image_folder": "logistic_regression",
    "lfw": "lfw_cnn",
    "mnist": "mnist_cnn",
    "next_word": "word_lstm",
    "sentiment140": "sentiment_lstm",
    "synthetic": "logistic_regression",
    "table": "mlp",
}
ATTACK_FOR: dict[str, str] = {
    "next_word": "word",
    "sentiment140": "label_flip",
    "synthetic": "label_flip",
    "table": "label_flip",
}
"""All others are pictures."""

MEANINGS: dict[str, str] = {
    "sampler": "who takes part in a round: fedward list sampler",
    "local": "what a user does with the model: fedward list local-trainer",
    "server": "what the server does with the mean: fedward list server-step",
    "policy": "a bound that moves, in the place of clip_bound: fedward list clip-policy",
    "clip_bound": "the longest that an update may be; longer ones are cut to it",
    "clip": "flat, per-layer, median or per-layer-median",
    "noise_multiplier": "z: noise for each unit of the clip bound; more is more private",
    "noise_std": "the standard deviation of the noise on the mean of the updates",
    "noise_source": "system where data really is private; seeded can be repeated",
    "learning_rate": "the length of a step",
    "learning_rate_decay": "the learning rate is multiplied by it after every round",
    "initial_bound": "the clip bound of the first round",
    "decay": "the clip bound is multiplied by it after every round",
    "floor": "the clip bound never falls below it",
    "quantile": "the share of updates that the clip bound is to let through",
    "momentum": "how much of the last step goes on",
    "weight_decay": "how strongly weights are pulled to zero",
    "batch_size": "examples in a step; a user with fewer takes all of them",
    "sgd.steps": "how many steps a user takes in a round, in the place of epochs",
    "dp_sgd.steps": "how many batches a user takes in a round",
    "dp_sgd.clip_bound": "the longest that the gradient of an example may be; cut to it",
    "epochs": "how often a user goes through its examples in a round; or give steps",
    "probability": "of each example to be in a batch, declared beforehand",
    "expected_batch": "what noisy sums are divided by, declared beforehand",
    "malicious": "how many bad updates a round may hold",
    "trimmed": "how many of the largest and of the smallest values are left out",
    "factor": "attackers send their update times this",
    "std": "of the noise that attackers send",
    "weights": "start from these: of fedward pretrain, or the model.pt of a run",
}
"""Meanings of keys whose docstring speaks in symbols; all other keys are explained by their own docstring.

A key may have the name of its part before it.
"""
