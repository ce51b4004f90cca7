"""SGD of an attacker that takes bad and good steps by turns."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds
from fedward.local.sgd import SGD


@dataclass(frozen=True, kw_only=True)
class AlternatingSGD:
    """The local training of ``AlternatingMinimisation``, which says what the steps are.

    ``bad`` are the places of the bad examples; ``goal`` is the update that the good steps stay near to, and
    ``name`` is a digest of it, by which two trainers are told apart.
    """

    sgd: SGD
    boost: float
    stealth: int
    distance: float
    bad: tuple[int, ...] = ()
    name: str = field(default="", repr=False)
    goal: Tensor | None = field(default=None, compare=False, repr=False)

    def towards(self, goal: Tensor) -> AlternatingSGD:
        """The same, with an update to stay near to."""
        digest = hashlib.blake2b(goal.contiguous().numpy().data, digest_size=16).hexdigest()
        return replace(self, goal=goal, name=digest)

    def at_round(self, round: int, bounds: Bounds) -> AlternatingSGD:
        return self

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        model.module.train()
        start = model.weights.clone()
        velocity = torch.zeros_like(start) if self.sgd.momentum else None
        bad = torch.tensor(self.bad, dtype=torch.int64)
        kept = torch.ones(len(examples), dtype=torch.bool)
        kept[bad] = False
        good = torch.nonzero(kept).flatten()
        # Who has bad examples only takes as many bad steps as it would take between good ones.
        for step, batch in enumerate(self.sgd.batches(len(good) or len(examples), rng)):
            if len(bad) and step % self.stealth == 0:
                self._slope(model, *examples.batch(bad))
                with torch.no_grad():
                    model.weights.sub_(model.gradient, alpha=self.boost * self.sgd.learning_rate)
            if len(good):
                self._slope(model, *examples.batch(good[batch]))
                self._pull(model, start)
                self.sgd.advance(model.weights, model.gradient, velocity)

    def _slope(self, model: FlatModule, x: Tensor, y: Tensor) -> None:
        """Leaves the gradient of the loss on these examples in the model."""
        model.gradient.zero_()
        cross_entropy(model(x, owned=True), y).backward()  # type: ignore[no-untyped-call]

    @torch.no_grad()
    def _pull(self, model: FlatModule, start: Tensor) -> None:
        """Adds the gradient of the distance, which is a unit vector; zero where there is none."""
        if self.goal is None or self.distance == 0:
            return
        away = (model.weights - start).double() - self.goal[: len(start)].to(start.device)
        length = float(torch.linalg.vector_norm(away))
        if length > 0:
            model.gradient.add_((away / length).to(start.dtype), alpha=self.distance)
