"""One clipped and noisy gradient: FedSGD with local differential privacy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from dp_accounting import DpEvent, GaussianDpEvent
from torch import Tensor, nn

from fedward.base.randomness import SOURCES, Source
from fedward.base.validate import InvalidValue, one_of, positive, rate, whole
from fedward.clipping.norms import clip_to, l2_norm
from fedward.core.check import refuse_batch_norm
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds
from fedward.local.dp_sgd import check_own_noise, gaussian, round_bound
from fedward.local.full_gradient import whole_gradient
from fedward.local.schedule import decayed, decisive_rounds
from fedward.privacy.events import Adjacency
from fedward.privacy.guarantee import Unit


@dataclass(frozen=True, kw_only=True)
class NoisyGradient:
    """The update is one step along the clipped gradient of the user's mean loss, plus noise.

        Δw = -η_t (clip(∇L(w; all examples), C) + N(0, z² C² I)),    η_t = η d^t in round t

    Guarantee: all of the user's data replaced moves the clipped gradient by at most 2C, so what the user
    sends is a Gaussian mechanism with noise multiplier z/2. Nobody needs to be trusted, and that the user
    takes part is public. A gradient that is not finite counts as zero.

    Args:
      noise_multiplier: z: noise for each unit of the clip bound; more is more private. It is the papers' σ;
        the guarantee counts z/2.
      clip_bound: C: the longest that a gradient may be; longer ones are cut to it. The bound of the server's
        clip policy if not given.
      learning_rate: η: the length of a step. With 1 the server's learning rate is FedSGD's.
      learning_rate_decay: d: the learning rate is multiplied by it after every round. That of round t is η
        d^t.
      chunk_size: how many examples go through the model at once. It changes memory, not the result beyond
        rounding.
      noise_source: ``system`` where data really is private; ``seeded`` can be repeated. Noise
        comes from the operating system, or from the stream that ``train`` is given.

    >>> NoisyGradient(noise_multiplier=4.0, clip_bound=0.01).local_event(0)
    GaussianDpEvent(noise_multiplier=2.0)

    The study of clip sizes under LDP (docs/references.md), algorithm 3.
    """

    noise_multiplier: float
    clip_bound: float | None = None
    learning_rate: float = 1.0
    learning_rate_decay: float = 1.0
    chunk_size: int = 512
    noise_source: Source = "seeded"

    unit: ClassVar[Unit] = "user"
    adjacency: ClassVar[Adjacency] = "local"

    def __post_init__(self) -> None:
        check_own_noise(self.noise_multiplier, self.clip_bound)
        positive("learning rate", self.learning_rate)
        rate("learning rate decay", self.learning_rate_decay)
        whole("chunk size", self.chunk_size)
        one_of("noise source", self.noise_source, SOURCES)

    def local_event(self, round: int) -> DpEvent:
        """What one round does to each user in it."""
        return GaussianDpEvent(self.noise_multiplier / 2)

    def check_model(self, module: nn.Module, x: Tensor) -> None:
        """Any model will do: the whole gradient is clipped."""

    def at_round(self, round: int, bounds: Bounds) -> NoisyGradient:
        bound = round_bound("a noisy gradient", self.clip_bound, bounds)
        return replace(decayed(self, round), clip_bound=bound)

    def decisive_rounds(self, rounds: int) -> tuple[int, ...]:
        return decisive_rounds(self, rounds)

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> float:
        if self.clip_bound is None:
            raise InvalidValue("a noisy gradient needs a clip bound: give one, or use at_round first")
        refuse_batch_norm(model.module)
        model.module.train()
        gradient = whole_gradient(model, examples, self.chunk_size)
        if not bool(torch.isfinite(gradient).all()):
            gradient.zero_()
        norm = l2_norm(gradient)
        clipped = clip_to(gradient, norm, self.clip_bound)
        noise = gaussian(len(gradient), self.noise_multiplier * self.clip_bound, self.noise_source, rng)
        noisy = (clipped + noise.to(clipped.device)).to(gradient.dtype)
        model.weights.sub_(noisy, alpha=self.learning_rate)
        return norm
