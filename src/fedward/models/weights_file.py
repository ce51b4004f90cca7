"""A file of pre-trained weights: tensors by name, and what they are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from fedward.base.sealed import seal, unseal
from fedward.base.validate import InvalidValue
from fedward.core.parameters import ParameterSpec
from fedward.core.vocabulary import Vocabulary

_FORMAT = "fedward weights 1"
_REMEDY = "pre-train again, or put back a copy of it"


@dataclass(frozen=True, kw_only=True)
class About:
    """What a file of weights is.

    Args:
      model: the table ``[model]`` that made it, with all its options.
      data: the table ``[data]``, and the digest of what it loaded.
      training: the table ``[training]``.
      start: the digest of the parameters that training began with.
      seed: of initialisation and shuffles.
      epochs, parts: how far training is: whole epochs, and parts of the next one.
      wanted: how many epochs it was to have.
      accuracy: on the test set, after each epoch; empty if there is none.
      vocabulary: the digest of the words, for models of text.
      versions: of what trained it.
    """

    model: dict[str, Any]
    data: dict[str, Any]
    training: dict[str, Any]
    start: str
    seed: int
    epochs: int = 0
    parts: int = 0
    wanted: int
    accuracy: tuple[float, ...] = ()
    vocabulary: str | None = None
    versions: dict[str, str]

    @property
    def finished(self) -> bool:
        return self.epochs >= self.wanted

    def same_training(self, other: About) -> list[str]:
        """What is different about another training; how long it lasted is not."""
        keys = ("model", "data", "training", "start", "seed", "vocabulary")
        return [key for key in keys if _given(getattr(self, key)) != _given(getattr(other, key))]

    def __str__(self) -> str:
        known = f", {self.accuracy[-1]:.1%} accuracy" if self.accuracy else ""
        plural = "" if self.epochs == 1 else "s"
        return f"{self.model['name']} trained on {self.data['name']} for {self.epochs} epoch{plural}{known}"


def _given(value: object) -> object:
    """A table without what is not given: later versions have keys that earlier ones had not."""
    return (
        {key: each for key, each in value.items() if each is not None} if isinstance(value, dict) else value
    )


def to_bytes(about: About, tensors: Mapping[str, Tensor]) -> bytes:
    """The file: sealed with a digest of all that is in it."""
    plain = asdict(about) | {"accuracy": list(about.accuracy)}
    return seal(_FORMAT, {"about": plain, "tensors": dict(tensors)})


def is_weights_file(content: bytes) -> bool:
    """Whether the file says that it is one; ``from_bytes`` finds out whether it is whole."""
    return content.startswith(_FORMAT.encode())


def from_bytes(content: bytes, source: str) -> tuple[About, dict[str, Tensor]]:
    """Reads such a file; tensors and plain values only, no code is run."""
    saved = unseal(_FORMAT, content, source, _REMEDY)
    try:
        about = About(**saved["about"] | {"accuracy": tuple(saved["about"]["accuracy"])})
        tensors = dict(saved["tensors"])
    except (KeyError, TypeError) as error:
        raise InvalidValue(f"{source} must be a file of the format {_FORMAT!r}: {error}") from error
    return about, tensors


def copy_trained(spec: ParameterSpec, parameters: Tensor) -> dict[str, Tensor]:
    """Copies of what is trained, by name; frozen vectors are not: they belong to the data's vocabulary."""
    views = spec.views(parameters)
    # A view would bring the whole vector into the file.
    return {name: view.clone(memory_format=torch.contiguous_format) for name, view in views.items()}


def words_digest(vocabulary: Vocabulary | None) -> str | None:
    """Changes whenever a word or the order of words changes."""
    if vocabulary is None:
        return None
    return hashlib.blake2b(json.dumps(vocabulary.words).encode(), digest_size=16).hexdigest()
