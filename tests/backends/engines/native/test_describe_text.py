"""Which models of text the native engine knows."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from backends.engines.native.texts import random_text
from fedward.backends.engines.choice import Engine
from fedward.backends.engines.native import available, why_not
from fedward.backends.engines.native.describe import NotCovered
from fedward.backends.engines.native.describe_text import check_text_model
from fedward.core.parameters import ParameterSpec
from fedward.core.types import Job
from fedward.local import SGD
from fedward.models import TEXT_MODELS
from fedward.models.text_lstm import TextLSTM
from models.model_examples import made


class Louder(TextLSTM):
    """The same model, with scores that are twice as large."""

    def forward(self, tokens: Tensor) -> Tensor:
        return 2 * super().forward(tokens)


def model() -> TextLSTM:
    return TextLSTM(nn.Embedding(9, 6), (6, 6), 9)


def subclass(module: TextLSTM) -> TextLSTM:
    return Louder(nn.Embedding(9, 6), (6,), 2)


def hooked(module: TextLSTM) -> TextLSTM:
    module.layers[1].register_forward_hook(lambda layer, given, found: None)
    return module


def patched(module: TextLSTM) -> TextLSTM:
    module.forward = lambda tokens: torch.zeros(len(tokens), 9)  # type: ignore[method-assign]
    return module


def shared(module: TextLSTM) -> TextLSTM:
    module.layers[1] = module.layers[0]
    return module


def tied(module: TextLSTM) -> TextLSTM:
    module.output.weight = module.embedding.weight
    return module


def frozen(module: TextLSTM) -> TextLSTM:
    module.output.bias.requires_grad_(False)
    return module


def replaced(layer: nn.Module) -> Callable[[TextLSTM], TextLSTM]:
    def change(module: TextLSTM) -> TextLSTM:
        module.layers[0] = layer
        return module

    return change


def vectors(**options: object) -> Callable[[TextLSTM], TextLSTM]:
    def change(module: TextLSTM) -> TextLSTM:
        for name, value in options.items():
            setattr(module.embedding, name, value)
        return module

    return change


CHANGES: list[tuple[Callable[[TextLSTM], TextLSTM], str]] = [
    (subclass, "it has a layer Louder"),
    (hooked, "something is hooked to layers.1"),
    (patched, "something is hooked to it"),
    (shared, "used twice"),
    (tied, "used twice"),
    (frozen, "frozen"),
    (replaced(nn.GRU(6, 6, batch_first=True)), "layers.0 is a GRU"),
    (replaced(nn.LSTM(6, 6)), "batch first"),
    (replaced(nn.LSTM(6, 6, num_layers=2, batch_first=True)), "not one LSTM layer"),
    (replaced(nn.LSTM(6, 3, bidirectional=True, batch_first=True)), "not one LSTM layer"),
    (replaced(nn.LSTM(6, 6, bias=False, batch_first=True)), "batch first, with bias"),
    (replaced(nn.LSTM(6, 8, proj_size=6, batch_first=True)), "not one LSTM layer"),
    (vectors(max_norm=1.0), "a largest norm"),
    (vectors(scale_grad_by_freq=True), "a largest norm"),
    (TextLSTM.double, "torch.float64"),
]


@pytest.mark.parametrize(("change", "reason"), CHANGES, ids=[reason for _, reason in CHANGES])
def test_whatever_is_changed_belongs_to_the_generic_path(
    change: Callable[[TextLSTM], TextLSTM], reason: str
) -> None:
    module = change(model())
    with pytest.raises(NotCovered, match=reason):
        check_text_model(module, ParameterSpec.of(module))


@pytest.mark.skipif(not available(), reason="the native engine was not compiled")
def test_what_is_not_covered_is_trained_all_the_same() -> None:
    module = subclass(model())
    examples = random_text(0).examples(3)
    start = ParameterSpec.of(module).flatten(module)
    sgd = SGD(learning_rate=0.1, batch_size=2, epochs=1)
    job = Job(parameters=start, user=0, num_examples=3, trainer=sgd, seed=0)
    examples.y.clamp_(max=1)
    examples.x.values.clamp_(max=8)  # type: ignore[union-attr]
    engine = Engine(module)
    assert engine.way(job, examples) == "loop"
    assert bool(engine.train(job, examples).update.any())


@pytest.mark.skipif(not available(), reason="the native engine was not compiled")
@pytest.mark.parametrize("name", TEXT_MODELS)
def test_the_models_of_text_are_covered(name: str) -> None:
    module = made(name)
    assert why_not(module, ()) == ""
    assert why_not(copy.deepcopy(module), ()) == ""
