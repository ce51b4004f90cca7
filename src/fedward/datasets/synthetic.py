"""A federation of any size that is generated: no file, no network."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from fedward.base.randomness import stream
from fedward.base.validate import InvalidValue, non_negative, whole
from fedward.core.examples import Examples
from fedward.core.federation import Federation

Floats = NDArray[np.float32]

LARGEST = 1e12
"""The largest α and β."""

_BLOCK = 1 << 20
"""The count of numbers held beyond the data while labels are found."""


def load(
    *,
    seed: int,
    users: int = 100,
    examples: int = 10,
    features: int = 60,
    classes: int = 10,
    alpha: float = 0.0,
    beta: float = 0.0,
    test_examples: int = 1000,
) -> Federation:
    """Gaussian examples that each user labels with a linear model of its own; x in ``[n, features]``.

        x ~ N(v_k, Σ),    y = argmax_c (W_k x + b_k)_c,    Σ_jj = j^-1.2
        W_k = W + √α N(0, I),    b_k = b + √α N(0, I),    v_k = √β N(0, I),    W, b ~ N(0, I)

    With α = β = 0 all users draw from one distribution. Every test example is that of a new user, who is
    not in the federation. It takes little more memory than the examples do.

    Args:
      seed: of all that is drawn here.
      users: how many users.
      examples: how many examples each user owns.
      features: how many numbers an example has.
      classes: how many classes there are.
      alpha: α, how far apart the users' models lie.
      beta: β, how far apart the means of the users' examples lie.
      test_examples: how many test examples there are.

    >>> federation = load(users=20, examples=5, features=8, classes=3, seed=0)
    >>> federation.num_users, tuple(federation.examples.x.shape), len(federation.test)
    (20, (100, 8), 1000)

    After synthetic(α, β) of Li et al., Federated optimization in heterogeneous networks, 2020, and Shamir et
    al. 2014. There u_k ~ N(0, α) is added to all of W_k alike, which changes no label, and users share no W.
    """
    whole("number of users", users)
    whole("examples of each user", examples)
    whole("number of features", features)
    whole("number of classes", classes, at_least=2)
    _variance("alpha", alpha)
    _variance("beta", beta)
    whole("number of test examples", test_examples)
    rng = stream(seed, "partition")

    shared = rng.standard_normal((features + 1, classes), dtype=np.float32)
    return Federation(
        examples=_draw(rng, users, examples, shared, alpha, beta),
        offsets=torch.arange(0, users * examples + 1, examples),
        names=np.arange(users),
        num_classes=classes,
        test=_draw(rng, test_examples, 1, shared, alpha, beta),
    )


def _draw(
    rng: np.random.Generator, users: int, examples: int, shared: Floats, alpha: float, beta: float
) -> Examples:
    """The examples of this many users, one user after the other.

    ``shared`` is W with b as its last row. Users go in blocks: their own models would take more memory than
    their examples do.
    """
    features, classes = len(shared) - 1, shared.shape[1]
    deviation = np.arange(1, features + 1, dtype=np.float32) ** np.float32(-0.6)
    x = np.empty((users, examples, features), dtype=np.float32)
    y = np.empty((users, examples), dtype=np.int64)
    block = max(1, _BLOCK // (classes * (features + 1 + examples)))
    for start in range(0, users, block):
        own, labels = x[start : start + block], y[start : start + block]
        rng.standard_normal(dtype=np.float32, out=own)
        own *= deviation
        if beta:
            own += _normal(rng, (len(own), 1, features), beta)
        models = shared[None]
        if alpha:
            models = shared + _normal(rng, (len(own), features + 1, classes), alpha)
        scores = own @ models[:, :-1]
        scores += models[:, -1:]
        np.argmax(scores, axis=2, out=labels)
    return Examples(torch.from_numpy(x.reshape(-1, features)), torch.from_numpy(y.reshape(-1)))


def _normal(rng: np.random.Generator, shape: tuple[int, ...], variance: float) -> Floats:
    normal = rng.standard_normal(shape, dtype=np.float32)
    normal *= np.float32(math.sqrt(variance))
    return normal


def _variance(name: str, value: float) -> float:
    """Refuses what float32 cannot hold the scores of."""
    if non_negative(name, value) > LARGEST:
        raise InvalidValue(f"{name} must be at most {LARGEST:g}, got {value}")
    return value
