"""DP-SGD at the user: each example of each user is hidden, from the server as well."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from dp_accounting import DpEvent, GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
from torch import Tensor, nn

from fedward.base.randomness import SOURCES, Source, system_normal
from fedward.base.validate import (
    InvalidType,
    InvalidValue,
    half_open_unit,
    non_negative,
    one_of,
    positive,
    rate,
    whole,
)
from fedward.core.check import refuse_batch_norm
from fedward.core.examples import Examples, Ragged
from fedward.core.parameters import FlatModule
from fedward.core.types import Bounds
from fedward.local.per_example import ClipsItself, check_separable, clipped_sum, examine
from fedward.local.per_example.record import Layer
from fedward.local.schedule import decayed, decisive_rounds
from fedward.local.sgd import MOST_STEPS
from fedward.privacy.events import Adjacency, multiplier
from fedward.privacy.guarantee import Unit

# A Poisson batch may be as large as the data; so many examples go through the model at once.
_CHUNK = 256


@dataclass(frozen=True, kw_only=True)
class DPSGD:
    """SGD on Poisson batches with per-example clipping and Gaussian noise.

        g = (Σ_{i in batch} clip(∇ℓ_i, C) + N(0, z² C² I)) / L + λ w,    v = μ v + g,    w = w - η_t v

    Guarantee: V steps are V Poisson-sampled Gaussian mechanisms with sampling rate p and noise multiplier z,
    for one example of the user added or removed, whatever the server does with the model. Every example is in
    a batch with probability p on its own; the divisor L does not follow the batch; an empty batch takes its
    noisy step; momentum and weight decay act on what is private already. It holds for models that keep
    examples apart: see ``per_example.check_separable``. (Algorithm 2 of Naseri et al. writes the noise
    after the division; it belongs on the sum.)

    Args:
      learning_rate: η: the length of a step.
      probability: p: of each example to be in a batch, declared beforehand. It must not be computed from the
        size of private data.
      expected_batch: L: what noisy sums are divided by, declared beforehand.
      steps: V: how many batches a user takes in a round.
      noise_multiplier: z: noise for each unit of the clip bound; more is more private. It is the papers' σ:
        noise on the sum has standard deviation z C.
      clip_bound: C: the longest that the gradient of an example may be; cut to it. The bound of the server's
        clip policy if not given.
      momentum: μ: how much of the last step goes on. It starts from zero in every round.
      weight_decay: λ: how strongly weights are pulled to zero.
      learning_rate_decay: d: the learning rate is multiplied by it after every round. That of round t is η
        d^t.
      per_layer: clips each of the model's K layers to C/√K instead of the whole to C. Together that is C
        again, so noise and guarantee are the same.
      noise_source: ``system`` where data really is private; ``seeded`` can be repeated. Batches
        and noise come from the operating system, or from the stream that ``train`` is given.

    >>> local = DPSGD(
    ...     learning_rate=0.1, probability=0.1, expected_batch=50, steps=5, noise_multiplier=2.0
    ... )
    >>> local.local_event(0).count, local.at_round(3, (0.5,)).clip_bound
    (5, 0.5)

    Abadi et al. 2016; Naseri et al. 2020, algorithm 2; Xie et al. 2022, algorithms 2 and 3.
    """

    learning_rate: float
    probability: float
    expected_batch: float
    steps: int
    noise_multiplier: float
    clip_bound: float | None = None
    momentum: float = 0.0
    weight_decay: float = 0.0
    learning_rate_decay: float = 1.0
    per_layer: bool = False
    noise_source: Source = "seeded"

    unit: ClassVar[Unit] = "example"
    adjacency: ClassVar[Adjacency] = "add/remove"

    def __post_init__(self) -> None:
        positive("learning rate", self.learning_rate)
        rate("probability", self.probability)
        positive("expected batch", self.expected_batch)
        whole("steps", self.steps, at_most=MOST_STEPS)
        check_own_noise(self.noise_multiplier, self.clip_bound)
        half_open_unit("momentum", self.momentum)
        non_negative("weight decay", self.weight_decay)
        rate("learning rate decay", self.learning_rate_decay)
        if not isinstance(self.per_layer, bool):
            raise InvalidType(f"per layer must be true or false, got {self.per_layer!r}")
        one_of("noise source", self.noise_source, SOURCES)

    def local_event(self, round: int) -> DpEvent:
        """What one round does to each user in it."""
        step = PoissonSampledDpEvent(self.probability, GaussianDpEvent(self.noise_multiplier))
        return SelfComposedDpEvent(step, self.steps)

    def check_model(self, module: nn.Module, x: Tensor) -> None:
        """Refuses a model that mixes examples: no clipping of one example's gradient would bound it."""
        check_separable(module, x)

    def at_round(self, round: int, bounds: Bounds) -> DPSGD:
        bound = round_bound("DP-SGD", self.clip_bound, bounds)
        return replace(decayed(self, round), clip_bound=bound)

    def decisive_rounds(self, rounds: int) -> tuple[int, ...]:
        return decisive_rounds(self, rounds)

    def train(self, model: FlatModule, examples: Examples, rng: np.random.Generator) -> None:
        if self.clip_bound is None:
            raise InvalidValue("DP-SGD needs a clip bound: give one, or use at_round first")
        refuse_batch_norm(model.module)
        model.module.train()
        bounds: Bounds = (self.clip_bound,)
        if self.per_layer:
            groups = len(model.spec.layer_sizes())
            bounds = (self.clip_bound / math.sqrt(groups),) * groups
        clipped = clipper(model, examples, bounds)
        weights = model.weights
        velocity = torch.zeros_like(weights)
        if self.noise_source == "system":
            # Whoever can redraw the batches takes the amplification away.
            rng = np.random.Generator(np.random.Philox(key=secrets.randbits(128)))
        for _ in range(self.steps):
            batch = torch.from_numpy(np.flatnonzero(rng.random(len(examples)) < self.probability))
            total = clipped(batch)
            noise = gaussian(len(weights), self.noise_multiplier * self.clip_bound, self.noise_source, rng)
            gradient = ((total + noise.to(total.device)) / self.expected_batch).to(weights.dtype)
            if self.weight_decay:
                gradient.add_(weights, alpha=self.weight_decay)
            step = velocity.mul_(self.momentum).add_(gradient) if self.momentum else gradient
            weights.sub_(step, alpha=self.learning_rate)


def check_own_noise(noise_multiplier: float, clip_bound: float | None) -> None:
    """Raises unless there is noise: multiplier, clip bound and their product must be above zero."""
    multiplier(noise_multiplier)
    if clip_bound is not None:
        positive("clip bound", clip_bound)
        # Two numbers above zero may have a product that is not: then no noise would be added.
        positive("standard deviation of the noise", noise_multiplier * clip_bound)


def round_bound(name: str, own: float | None, bounds: Bounds) -> float:
    """The clip bound of a round: the trainer's own, or else the one that the server's policy gave."""
    if own is None and len(bounds) != 1:
        raise InvalidValue(
            f"{name} without a clip bound needs one that is known before the round, got {len(bounds)}"
        )
    return bounds[0] if own is None else own


def gaussian(size: int, std: float, source: Source, rng: np.random.Generator) -> Tensor:
    """Gaussian noise in double precision: from the stream, or every bit of it from the operating system."""
    normal = rng.standard_normal(size) if source == "seeded" else system_normal(size)
    return torch.from_numpy(normal).mul_(std)


def clipper(model: FlatModule, examples: Examples, bounds: Bounds) -> Callable[[Tensor], Tensor]:
    """What sums up the clipped gradients of a batch, given its indices."""
    layers = () if isinstance(model, ClipsItself) or not len(examples) else _layers(model, examples)

    def clipped(batch: Tensor) -> Tensor:
        total = torch.zeros_like(model.weights, dtype=torch.float64)
        if isinstance(model, ClipsItself):
            for index in torch.split(batch, _CHUNK) if len(batch) else ():
                total += model.clipped_sum(examples, index, bounds)
        else:
            for index in _together(examples, batch):
                total += clipped_sum(model, *examples.batch(index), bounds, layers)
        return total

    return clipped


def _layers(model: FlatModule, examples: Examples) -> tuple[Layer, ...]:
    return examine(model, examples.batch(torch.arange(1))[0])


def _together(examples: Examples, batch: Tensor) -> Iterator[Tensor]:
    """A batch in parts that may go through the model together.

    Sequences of one length only: padding to the longest would let one example change what others look like.
    """
    parts = [batch]
    if isinstance(examples.x, Ragged):
        lengths = examples.x.offsets.diff().cpu()[batch]
        parts = [batch[lengths == length] for length in sorted(set(lengths.tolist()))]
    for part in parts:
        if len(part):
            yield from torch.split(part, _CHUNK)
