"""Random models of text of any sizes, and sequences for them."""

from __future__ import annotations

import copy
import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedward.backends.engines.native.describe_text import build_text_engine, read_tokens
from fedward.core.examples import Examples, Ragged
from fedward.core.parameters import ParameterSpec
from fedward.models.text_lstm import TextLSTM

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Text:
    """A model of text with random parameters."""

    module: TextLSTM
    tokens: int
    classes: int

    @property
    def spec(self) -> ParameterSpec:
        return ParameterSpec.of(self.module)

    @property
    def start(self) -> Tensor:
        return self.spec.flatten(self.module)

    def engine(self, instructions: str = "auto") -> Any:
        return build_text_engine(copy.deepcopy(self.module), self.spec, instructions)

    def double(self) -> nn.Module:
        return copy.deepcopy(self.module).double()

    def examples(self, count: int, seed: int = 0, longest: int = 9) -> Examples:
        """Sequences of 1 to ``longest`` tokens, with token 0 anywhere; the labels go round all classes."""
        rng = random.Random(seed)
        rows = [
            [rng.randrange(self.tokens) for _ in range(rng.randint(1, longest))] + [0] * rng.choice([0, 0, 2])
            for _ in range(count)
        ]
        rows[rng.randrange(count)] = [0] * rng.randint(1, 3)
        return Examples(Ragged.from_sequences(rows), (torch.arange(count) + seed) % self.classes)

    def gradients(self, examples: Examples) -> Array:
        """The gradient of each example by autograd in double precision, one row each."""
        module = self.double()
        trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
        rows = []
        for place in range(len(examples)):
            x, y = examples.batch(torch.tensor([place]))
            found = torch.autograd.grad(cross_entropy(module(x), y), trained)
            rows.append(torch.cat([gradient.flatten() for gradient in found]).numpy())
        return np.stack(rows)


def arrays(examples: Examples) -> tuple[Any, Array]:
    return read_tokens(examples.x), examples.y.numpy()


def random_text(seed: int) -> Text:
    """One to three layers of any widths, word vectors that are trained or not, with a padding or without."""
    rng = random.Random(seed)
    tokens, classes = rng.randint(3, 12), rng.choice([1, 2, 3, 5, 8, 9, 33])
    embedding = nn.Embedding(tokens, rng.randint(1, 20), padding_idx=rng.choice([None, 0, 0, 2]))
    embedding.weight.requires_grad_(rng.random() < 0.6)
    widths = [rng.choice([*range(1, 21), 32]) for _ in range(rng.choice([1, 1, 2, 3]))]
    module = TextLSTM(embedding, widths, classes)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            inputs = parameter.shape[1] if parameter.ndim > 1 else 4
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 1.5 / math.sqrt(inputs))
    return Text(module, tokens, classes)


def models_of_text() -> st.SearchStrategy[Text]:
    """Random models, by a seed."""
    return st.integers(0, 2**32 - 1).map(random_text)
