"""Models of text as the native engine knows them, or the reason why it does not know one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from fedward.backends.engines.hooks import is_changed
from fedward.backends.engines.native.describe import NotCovered
from fedward.core.examples import Ragged
from fedward.core.parameters import ParameterSpec
from fedward.models.text_lstm import TextLSTM

if TYPE_CHECKING:
    from fedward.backends.engines.native._engine import Lstm, TextEngine, Tokens


def is_text(module: nn.Module) -> bool:
    """Whether a module is fedward's own model of text and no subclass."""
    return type(module) is TextLSTM


def check_text_model(module: nn.Module, spec: ParameterSpec) -> TextLSTM:
    """The module, if it is a ``TextLSTM`` as it was made: nothing replaced, hooked, shared or frozen.

    Word vectors may be frozen: they are no part of the parameters then.

    >>> model = TextLSTM(nn.Embedding(5, 3), (4,), 2)
    >>> check_text_model(model, ParameterSpec.of(model)) is model
    True
    >>> model.layers[0] = nn.GRU(3, 4)
    >>> check_text_model(model, ParameterSpec.of(model))
    Traceback (most recent call last):
    fedward.backends.engines.native.describe.NotCovered: its layer layers.0 is a GRU, not an LSTM
    """
    if not isinstance(module, TextLSTM) or not is_text(module):
        raise NotCovered(f"it has a layer {type(module).__name__}")
    for name, part in module.named_modules():
        if is_changed(part):
            raise NotCovered(f"something is hooked to {name or 'it'}")
    if spec.dtype != torch.float32 or module.embedding.weight.dtype != torch.float32:
        raise NotCovered(f"its parameters are {spec.dtype}")
    _check_embedding(module.embedding)
    size = module.embedding.embedding_dim
    if type(module.layers) is not nn.ModuleList:
        raise NotCovered(f"its layers are a {type(module.layers).__name__}")
    for place, layer in enumerate(module.layers):
        size = _check_lstm(f"layers.{place}", layer, size)
    if (
        type(module.output) is not nn.Linear
        or module.output.bias is None
        or module.output.in_features != size
    ):
        raise NotCovered("its output is not a linear layer on the last state")
    _check_parameters(module, spec)
    return module


def build_text_engine(module: nn.Module, spec: ParameterSpec, instructions: str) -> TextEngine:
    """The compiled engine of a model of text; it reads frozen word vectors where they lie."""
    from fedward.backends.engines.native import _engine

    model = check_text_model(module, spec)
    places = {name: place.start for name, place in spec.layers()}
    embedding = model.embedding
    trained = embedding.weight.requires_grad
    frozen = embedding.weight.detach().contiguous().numpy()
    return _engine.TextEngine(
        tokens=embedding.num_embeddings,
        numbers=embedding.embedding_dim,
        table=places["embedding.weight"] if trained else frozen,
        padding=-1 if embedding.padding_idx is None else embedding.padding_idx,
        layers=[_lstm(f"layers.{place}", layer, places) for place, layer in enumerate(model.layers)],
        classes=model.output.out_features,
        output_at=(places["output.weight"], places["output.bias"]),
        parameters=spec.size,
        instructions=instructions,
    )


def read_tokens(x: Tensor | Ragged) -> Tokens | None:
    """The sequences of a user as the engine reads them; None if they are of another kind."""
    from fedward.backends.engines.native import _engine

    values = x.values if isinstance(x, Ragged) else x
    if values.dtype != torch.int64 or values.device.type != "cpu" or not len(x):
        return None
    if isinstance(x, Ragged):
        if values.ndim != 1:
            return None
        return _engine.Tokens(values.contiguous().numpy(), x.offsets.contiguous().numpy())
    if x.ndim != 2 or x.shape[1] == 0:
        return None
    return _engine.Tokens(x.contiguous().numpy().ravel(), np.arange(len(x) + 1) * x.shape[1])


def _check_embedding(embedding: nn.Module) -> None:
    if type(embedding) is not nn.Embedding:
        raise NotCovered(f"its word vectors are a {type(embedding).__name__}")
    if embedding.max_norm is not None or embedding.scale_grad_by_freq or embedding.sparse:
        raise NotCovered("its word vectors have a largest norm, or gradients of their own kind")


def _check_lstm(name: str, layer: nn.Module, size: int) -> int:
    """The size of its state, if it takes vectors of ``size``."""
    if type(layer) is not nn.LSTM:
        raise NotCovered(f"its layer {name} is a {type(layer).__name__}, not an LSTM")
    usual = layer.num_layers == 1 and layer.bias and layer.batch_first
    if not usual or layer.bidirectional or layer.proj_size or layer.input_size != size:
        raise NotCovered(
            f"its layer {name} is not one LSTM layer that reads forwards, batch first, with bias"
        )
    return int(layer.hidden_size)


def _check_parameters(module: TextLSTM, spec: ParameterSpec) -> None:
    frozen = [name for name, parameter in module.named_parameters() if not parameter.requires_grad]
    if not set(frozen) <= {"embedding.weight"}:
        raise NotCovered("some of its parameters are frozen")
    names = ["embedding.weight"] if not frozen else []
    for place in range(len(module.layers)):
        names += [f"layers.{place}.{kind}" for kind in _LSTM]
    if spec.names != (*names, "output.weight", "output.bias"):
        raise NotCovered("some of its parameters are used twice, or belong to no layer that is known")


_LSTM = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def _lstm(name: str, layer: nn.Module, places: dict[str, int]) -> Lstm:
    from fedward.backends.engines.native import _engine

    assert isinstance(layer, nn.LSTM)
    weight, recurrent, bias, recurrent_bias = (places[f"{name}.{kind}"] for kind in _LSTM)
    return _engine.Lstm(
        inputs=layer.input_size,
        units=layer.hidden_size,
        input_at=weight,
        recurrent_at=recurrent,
        input_bias_at=bias,
        recurrent_bias_at=recurrent_bias,
    )
