"""Small models, one a file. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from fedward.core.randomness import stream
from fedward.core.validate import one_of
from fedward.models.digits_cnn import digits_cnn
from fedward.models.logistic_regression import logistic_regression
from fedward.models.mlp import mlp
from fedward.models.mnist_cnn import mnist_cnn

MODELS: dict[str, Callable[..., nn.Module]] = {
    "digits_cnn": digits_cnn,
    "mnist_cnn": mnist_cnn,
    "logistic_regression": logistic_regression,
    "mlp": mlp,
}
"""Each is called with the keywords ``input_shape`` (of one example) and ``num_classes``."""


def build(name: str, *, input_shape: tuple[int, ...], num_classes: int, seed: int) -> nn.Module:
    """Makes a model with PyTorch's default initialisation, drawn from the seed's own stream.

    The same seed gives the same bits, and PyTorch's global generator is left as it was.

    Args:
      name: a key of ``MODELS``.
      input_shape: the shape of one example.
      num_classes: how many outputs there are.
      seed: the seed of the run.

    >>> a, b = (build("logistic_regression", input_shape=(4,), num_classes=2, seed=7) for _ in range(2))
    >>> bool(torch.equal(a[1].weight, b[1].weight))
    True
    """
    one_of("model", name, MODELS)
    start = int(stream(seed, "initial model").integers(2**63))
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed: that would seed the generators of all devices as well.
        torch.default_generator.manual_seed(start)
        return MODELS[name](input_shape=input_shape, num_classes=num_classes)
