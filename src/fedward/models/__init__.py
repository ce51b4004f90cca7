"""Small models, one a file. A new one is one file and one line here.

Whatever a model takes besides, a table ``[model]`` may give

Args:
  weights: start from these: of ``fedward pretrain``, or the model.pt of a run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from fedward.base.randomness import stream
from fedward.base.validate import InvalidValue, one_of
from fedward.core.vocabulary import Vocabulary
from fedward.models.cifar_cnn import cifar_cnn
from fedward.models.digits_cnn import digits_cnn
from fedward.models.emnist_cnn import emnist_cnn
from fedward.models.lfw_cnn import lfw_cnn
from fedward.models.linear_head import linear_head
from fedward.models.logistic_regression import logistic_regression
from fedward.models.mlp import mlp
from fedward.models.mnist_cnn import mnist_cnn
from fedward.models.resnet18_light import resnet18_light
from fedward.models.sentiment_lstm import sentiment_lstm
from fedward.models.word_lstm import word_lstm

TEXT_MODELS: dict[str, Callable[..., nn.Module]] = {
    "sentiment_lstm": sentiment_lstm,
    "word_lstm": word_lstm,
}
"""Each is called with the keywords ``vocabulary`` and ``num_classes``, and its own."""

MODELS: dict[str, Callable[..., nn.Module]] = {
    "digits_cnn": digits_cnn,
    "mnist_cnn": mnist_cnn,
    "emnist_cnn": emnist_cnn,
    "cifar_cnn": cifar_cnn,
    "resnet18_light": resnet18_light,
    "lfw_cnn": lfw_cnn,
    "logistic_regression": logistic_regression,
    "linear_head": linear_head,
    "mlp": mlp,
    **TEXT_MODELS,
}
"""Each is called with the keywords ``input_shape`` (of one example) and ``num_classes``; those of text are
called as ``TEXT_MODELS`` says."""


def build(
    model: str | Callable[..., nn.Module],
    *,
    input_shape: tuple[int, ...],
    num_classes: int,
    seed: int,
    vocabulary: Vocabulary | None = None,
    **options: Any,
) -> nn.Module:
    """Makes a model with PyTorch's default initialisation, drawn from the seed's own stream.

    The same seed gives the same bits, and PyTorch's global generator is left as it was.

    Args:
      model: a key of ``MODELS``, or what makes a model of one's own. It is called with those of
        ``input_shape``, ``num_classes`` and ``vocabulary`` that it takes.
      input_shape: the shape of one example; () for sequences of any length.
      num_classes: how many outputs there are.
      seed: the seed of the run.
      vocabulary: the words of the data, if the examples are text.
      options: what else the model takes, such as ``hidden``.

    >>> a, b = (build("logistic_regression", input_shape=(4,), num_classes=2, seed=7) for _ in range(2))
    >>> bool(torch.equal(a[1].weight, b[1].weight))
    True
    """
    factory = MODELS[one_of("model", model, MODELS)] if isinstance(model, str) else model
    takes = inspect.signature(factory).parameters
    if vocabulary is not None and "vocabulary" not in takes:
        name = model if isinstance(model, str) else factory.__qualname__
        raise InvalidValue(
            f"{name} reads numbers, but these data are words: take one of {', '.join(TEXT_MODELS)}"
        )
    known = {"input_shape": input_shape, "num_classes": num_classes, "vocabulary": vocabulary}
    supplied = {key: value for key, value in known.items() if key in takes}
    start = int(stream(seed, "initial model").integers(2**63))
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed: that would seed the generators of all devices as well.
        torch.default_generator.manual_seed(start)
        return factory(**supplied, **options)
