"""SGD that never leaves the ball around the round's model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fedward.base.validate import InvalidValue
from fedward.clipping.norms import clip_to, l2_norm
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds, LocalTrainer
from fedward.local.sgd import SGD


@dataclass(frozen=True, kw_only=True)
class ProjectedSGD:
    """SGD; after every batch the model is brought back to distance S of the one that the round began with.

        w ← w - η v,    w ← w_t + (w - w_t) · min(1, S / ‖w - w_t‖₂)

    S is the round's clip bound. It guarantees nothing, since a malicious user will not do it: the server
    clips again. What it gives is a user that makes the most of its bound, instead of walking away and being
    scaled back at the end. (Algorithm 1 of Naseri et al. writes θ_0 for the centre; it is the round's
    model.)

    Args:
      sgd: the steps that a user takes.

    >>> ProjectedSGD(sgd=SGD(learning_rate=0.1, batch_size=8, epochs=1)).at_round(0, (0.5,)).bound
    0.5

    Naseri et al. 2020, algorithm 1, lines 17-21; Miao et al., algorithm 1, lines 15-19.
    """

    sgd: SGD

    def at_round(self, round: int, bounds: Bounds) -> Projected:
        if len(bounds) != 1:
            raise InvalidValue(
                f"projected SGD needs one clip bound that is known before the round, got {len(bounds)}"
            )
        return Projected(sgd=self.sgd.at_round(round, bounds), bound=bounds[0])

    def decisive_rounds(self, rounds: int) -> tuple[int, ...]:
        return self.sgd.decisive_rounds(rounds)

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        raise InvalidValue("projected SGD needs the bound of a round: use at_round first")


@dataclass(frozen=True, kw_only=True)
class Projected:
    """Projected SGD with the learning rate and the bound of one round."""

    sgd: SGD
    bound: float

    def at_round(self, round: int, bounds: Bounds) -> LocalTrainer:
        return self

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        centre = model.parameters.clone()
        for _ in self.sgd.walk(model, examples, rng):
            moved = model.parameters - centre
            distance = l2_norm(moved)
            if not math.isfinite(distance):
                return  # the server rejects such a row and counts it, which a projected one would hide
            if distance > self.bound:
                model.parameters.copy_(centre + clip_to(moved, distance, self.bound))
