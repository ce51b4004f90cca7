"""Class means: a linear head in one round, without gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds


@dataclass(frozen=True, kw_only=True)
class ClassMeans:
    """The update is the mean of a user's examples of each class, less what all classes share, at length S.

        m_c = mean of the user's x of class c, 0 without any    u_c = m_c - (1/C) Σ_c' m_c'    Δ = S u / ‖u‖₂

    A linear head with these weights scores x by x · u_c. What is taken off adds the same to all scores, so
    that it would cost length and change no prediction. S is the round's clip bound: every user makes the most
    of it, and the server clips all the same, since nothing that a user does guarantees its norm. A bias is
    left as it is. Examples should be features of one length, with classes in different directions.

    >>> head = FlatModule(nn.Linear(2, 2, bias=False))
    >>> _ = head.parameters.zero_()
    >>> examples = Examples.from_arrays([[3.0, 0.0], [1.0, 0.0], [0.0, 2.0]], [0, 0, 1])
    >>> ClassMeans().at_round(0, (2.0,)).train(head, examples, np.random.default_rng(0))
    >>> head.parameters.tolist()
    [1.0, -1.0, -1.0, 1.0]

    Class means as a classifier are the prototypes of Snell, Swersky and Zemel 2017.
    """

    def at_round(self, round: int, bounds: Bounds) -> ClassMeansOfBound:
        if len(bounds) != 1:
            raise InvalidValue(
                f"class means need one clip bound that is known before the round, got {len(bounds)}"
            )
        return ClassMeansOfBound(bound=bounds[0])

    def decisive_rounds(self, rounds: int) -> tuple[int, ...]:
        return (0,)

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        raise InvalidValue("class means need the bound of a round: use at_round first")


@dataclass(frozen=True, kw_only=True)
class ClassMeansOfBound:
    """Class means with the bound of one round."""

    bound: float

    def at_round(self, round: int, bounds: Bounds) -> ClassMeansOfBound:
        return self

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        weights = head_weights(model)
        classes, features = weights.shape
        if isinstance(examples.x, Ragged) or examples.x[:1].numel() != features:
            raise InvalidValue(f"class means need examples of {features} numbers, as the head reads them")
        x, y = examples.batch(torch.arange(len(examples)))
        sums = torch.zeros(classes, features, dtype=torch.float64)
        sums.index_add_(0, y.cpu(), x.cpu().reshape(len(y), features).double())
        means = sums / torch.bincount(y.cpu(), minlength=classes).clamp_min(1).unsqueeze(1)
        apart = means - means.mean(dim=0)
        length = float(apart.norm())
        if length == 0 or not math.isfinite(self.bound):
            return  # nothing tells its classes apart, or there is no bound to fill
        weights += (apart * (self.bound / length)).to(weights)


def head_weights(model: FlatModule) -> Tensor:
    """The weights ``[classes, features]`` of a model that is one linear layer; any other is refused."""
    layers = [each for each in model.module.modules() if isinstance(each, nn.Linear)]
    others = [
        each
        for each in model.module.modules()
        if not isinstance(each, nn.Linear | nn.Sequential | nn.Flatten)
    ]
    if len(layers) != 1 or others:
        raise InvalidValue(
            "class means need a model of one linear layer (linear_head or logistic_regression), got "
            f"{type(others[0] if others else model.module).__name__}"
        )
    weights: Tensor = layers[0].weight.data
    return weights
