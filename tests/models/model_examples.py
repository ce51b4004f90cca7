"""A small example of every model, with inputs that it reads."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from fedward.core.vocabulary import Vocabulary
from fedward.models import TEXT_MODELS, build

SHAPES = {
    "digits_cnn": (1, 8, 8),
    "mnist_cnn": (1, 28, 28),
    "emnist_cnn": (1, 28, 28),
    "cifar_cnn": (3, 32, 32),
    "resnet18_light": (3, 32, 32),
    "lfw_cnn": (3, 24, 22),
    "logistic_regression": (3, 5),
    "linear_head": (3, 5),
    "mlp": (2, 3),
    "sentiment_lstm": (),
    "word_lstm": (),
}

WORDS = Vocabulary(
    words=("people", "in", "london", "are", "kind"),
    vectors=torch.randn(5, 6, generator=torch.Generator().manual_seed(3)),
)


def made(name: str, *, num_classes: int = 10, seed: int = 0, **options: Any) -> nn.Module:
    if name in TEXT_MODELS:
        options = {"hidden": 7} | options
    return build(
        name,
        input_shape=SHAPES[name],
        num_classes=num_classes,
        seed=seed,
        vocabulary=WORDS if name in TEXT_MODELS else None,
        **options,
    )


def inputs(name: str, count: int = 3, seed: int = 0) -> Tensor:
    """Pictures or features from 0 to 1; or sentences, the first one the longest and the others padded."""
    generator = torch.Generator().manual_seed(seed)
    if name not in TEXT_MODELS:
        return torch.rand(count, *SHAPES[name], generator=generator)
    tokens = torch.randint(1, WORDS.size, (count, 6), generator=generator)
    return tokens * (torch.arange(6) < (6 - torch.arange(count) % 5).unsqueeze(1))
