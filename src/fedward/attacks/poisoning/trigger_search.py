"""A search for the pixel values that a model, and its unlearned twin, fall for most."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, cross_entropy

from fedward.attacks.poisoning.pattern import plant_pixels
from fedward.attacks.poisoning.patterns import Place, images
from fedward.base.one_thread import single_threaded
from fedward.core.examples import Examples
from fedward.core.parameters import FlatModule


@dataclass(frozen=True, kw_only=True)
class TriggerSearch:
    """Projected sign descent on a trigger; ``A3FL`` says what the numbers are, and checks them."""

    places: tuple[Place, ...]
    target: int
    balance: float
    length: float
    steps: int
    renewed: int
    unlearning: int
    unlearning_rate: float
    least: float
    most: float

    def values_for(self, model: nn.Module, parameters: Tensor, examples: Examples) -> Tensor:
        """The values, [channels, pixels], for a model with these parameters; no module is changed.

        One thread computes them, so that they have the same bits on any machine with the same instructions.
        """
        x = images(examples)
        channels = x.shape[1] if x.ndim == 4 else 1
        middle = (self.least + self.most) / 2
        values = torch.full((channels, len(self.places)), middle, dtype=x.dtype)
        wanted = torch.full_like(examples.y, self.target)
        with single_threaded(), torch.enable_grad():
            current = _module_at(model, parameters)
            twin, weight = current, 0.0
            for step in range(self.steps):
                if self.balance > 0 and step % self.renewed == 0:
                    twin = self._unlearned(model, parameters, self._planted(x, values), examples.y)
                    weight = self.balance * _cosine(twin.parameters, current.parameters)
                values.requires_grad_()
                planted = self._planted(x, values)
                loss = cross_entropy(current(planted), wanted)
                if weight != 0:
                    loss = loss + weight * cross_entropy(twin(planted), wanted)
                (slope,) = torch.autograd.grad(loss, values)
                values = (values.detach() - self.length * slope.sign()).clamp(self.least, self.most)
        return values

    def _planted(self, x: Tensor, values: Tensor) -> Tensor:
        return plant_pixels(x, self.places, values)

    def _unlearned(self, model: nn.Module, parameters: Tensor, planted: Tensor, y: Tensor) -> FlatModule:
        """The model after some steps towards the true labels of the images with the trigger."""
        twin = _module_at(model, parameters)
        for _ in range(self.unlearning):
            twin.gradient.zero_()
            twin.add_gradient(planted, y, len(y))
            with torch.no_grad():
                twin.weights.sub_(twin.gradient, alpha=self.unlearning_rate)
        return twin


def _module_at(model: nn.Module, parameters: Tensor) -> FlatModule:
    """A copy of the module with these parameters, as it computes in evaluation."""
    module = FlatModule(copy.deepcopy(model).eval())
    with torch.no_grad():
        module.parameters.copy_(parameters)
    return module


def _cosine(one: Tensor, other: Tensor) -> float:
    return float(cosine_similarity(one.double(), other.double(), dim=0))
