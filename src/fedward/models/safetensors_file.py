"""A file of safetensors: weights that any program reads, that run nothing, and that say what they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from fedward.base.validate import InvalidValue

# The table [data] that the weights were trained on, as JSON: a training that starts from them must know.
DATA = "fedward.data"


def to_bytes(tensors: Mapping[str, Tensor], about: Mapping[str, str]) -> bytes:
    """The file, with what is said about the tensors in its header.

    Args:
      tensors: by name.
      about: one line each; under ``DATA`` what ``from_bytes`` gives back.
    """
    try:
        from safetensors.torch import save
    except ImportError:
        raise _not_installed("writing") from None
    # It refuses tensors that share memory, and such as are not in one piece.
    whole = torch.contiguous_format
    apart = {name: tensor.detach().clone(memory_format=whole) for name, tensor in tensors.items()}
    return save(apart, metadata=dict(about))


def from_bytes(content: bytes, source: str) -> tuple[dict[str, Tensor], dict[str, Any] | None]:
    """Its tensors, and the table ``[data]`` of their training if fedward wrote it.

    Args:
      content: of the file.
      source: its name, for errors.
    """
    try:
        from safetensors.torch import load
    except ImportError:
        raise _not_installed("reading") from None
    try:
        tensors: dict[str, Tensor] = load(content)
    except Exception as error:  # its own kind of error, which nobody need know
        raise InvalidValue(f"{source} must be a whole file of safetensors: {error}") from error
    # The length of the header was checked when the tensors were read.
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    try:
        data = json.loads(header.get("__metadata__", {})[DATA])
    except (KeyError, ValueError):
        return tensors, None
    return tensors, data if isinstance(data, dict) else None


def _not_installed(what: str) -> InvalidValue:
    return InvalidValue(f"{what} .safetensors needs safetensors: pip install 'fedward[features]'")
