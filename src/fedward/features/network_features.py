"""The last hidden layer of a frozen network, pre-trained on public data."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Ragged
from fedward.core.vocabulary import Vocabulary
from fedward.models import build
from fedward.models.initial_weights import load_weights

_BLOCK = 500


@dataclass(frozen=True, kw_only=True)
class NetworkFeatures:
    """What the last linear layer of a frozen network reads; nothing of the network is trained.

    The weights come from ``fedward pretrain``, or from any file of tensors with the network's names and
    shapes: a ``state_dict``, or ``.safetensors`` with the extra ``fedward[features]``. If they were trained
    on private data, no ε here covers that.

    Args:
      model: the name of a model of pictures or numbers.
      weights: the file.
      trained_on: the public data that it was trained on, in words, for the guarantee. The name of the file
        and the beginning of its digest stand beside them.
      with_labels: whether labels of these were used.
    """

    model: str
    weights: str
    trained_on: str = ""
    with_labels: bool = True

    def __post_init__(self) -> None:
        for name in ("model", "weights", "trained_on"):
            value = getattr(self, name)
            if not isinstance(value, str) or len(value.splitlines()) > 1:
                raise InvalidType(f"{name.replace('_', ' ')} must be one line of text, got {value!r}")
        if not isinstance(self.with_labels, bool):
            raise InvalidType(f"with labels must be true or false, got {self.with_labels!r}")

    @property
    def source(self) -> str:
        path = Path(self.weights)
        try:
            digest = hashlib.blake2b(path.read_bytes(), digest_size=6).hexdigest()
        except OSError as error:
            raise InvalidValue(f"weights {path} cannot be read: {error.strerror or error}") from error
        return f"{self.trained_on or 'data that are not named'} ({path.name}, {digest})"

    @property
    def source_labels(self) -> bool:
        return self.with_labels

    def compute(self, x: Tensor | Ragged, vocabulary: Vocabulary | None) -> Tensor:
        if isinstance(x, Ragged):
            raise InvalidValue("examples must be pictures or numbers for a network's features, got sequences")
        model = build(self.model, input_shape=tuple(x.shape[1:]), num_classes=2, seed=0)
        load_weights(Path(self.weights), model, self.model)
        heads = [each for each in model.modules() if isinstance(each, nn.Linear)]
        if not heads:
            raise InvalidValue(f"model must end in a linear layer to give features, got {self.model}")
        read: list[Tensor] = []
        hook = heads[-1].register_forward_pre_hook(lambda _, inputs: read.append(inputs[0].flatten(1)))
        try:
            model.eval()
            with torch.no_grad():
                for start in range(0, len(x), _BLOCK):
                    model(x[start : start + _BLOCK].float().clone())
        finally:
            hook.remove()
        return torch.cat(read)
