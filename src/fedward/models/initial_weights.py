"""Weights from a file, put into a model before training starts."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fedward.base.limited_files import read_archive
from fedward.base.validate import InvalidValue
from fedward.core.digest import tensor_digest
from fedward.core.parameters import ParameterSpec
from fedward.core.vocabulary import Vocabulary
from fedward.models import safetensors_file, weights_file


@dataclass(frozen=True, kw_only=True)
class InitialWeights:
    """What a model starts from besides its seed.

    Args:
      file: its path.
      source: the file, and what it says of itself.
      loaded: the parameters that came from it.
      fresh: those of the last layer, if it has another shape here: they are drawn from the seed.
      digest: of all parameters that training starts with; it stands for the file in a run's manifest.
      data: the table ``[data]`` that they were trained on, and its digest, if the file says so.
    """

    file: str
    source: str
    loaded: tuple[str, ...]
    fresh: tuple[str, ...]
    digest: str
    data: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        all_of_them = len(self.loaded) + len(self.fresh)
        new = f"; {', '.join(self.fresh)} of another shape there, drawn from the seed" if self.fresh else ""
        return f"starts from {self.source}: {len(self.loaded)} of {all_of_them} tensors loaded{new}"


def load_weights(
    path: Path, model: nn.Module, name: str, vocabulary: Vocabulary | None = None
) -> InitialWeights:
    """Puts weights from a file into a model, in place.

    The file is one that ``fedward pretrain`` wrote, a ``state_dict`` such as the ``model.pt`` of a run, or
    one of safetensors, by its ending.
    All parameters must be there and have the model's shapes, except those of its last layer: if their shapes
    differ they stay as they are. Nothing in the file is run.

    Args:
      path: the file.
      model: changed in place, or not at all if the file is refused.
      name: of the model.
      vocabulary: of the data, for models of text.
    """
    stored, source, data = _read(path, name, model, vocabulary)
    spec = ParameterSpec.of(model)
    values = spec.flatten(model)
    views = spec.views(values)
    wrong = f"weights {path} must be those of {name}"
    if missing := sorted(views.keys() - stored.keys()):
        raise InvalidValue(f"{wrong}, but {missing[0]} is not among them")
    if strange := sorted(stored.keys() - views.keys()):
        raise InvalidValue(f"{wrong}, but it has no {strange[0]}")
    last = spec.names[-1].rpartition(".")[0]
    fresh = tuple(key for key in views if stored[key].shape != views[key].shape)
    for key in fresh:
        if key.rpartition(".")[0] != last:
            raise InvalidValue(
                f"{wrong}, but {key} has shape {tuple(stored[key].shape)} there and "
                f"{tuple(views[key].shape)} here; only the last layer may differ"
            )
    if fresh:
        # A bias as long as ours beside a weight that is not belongs to that other layer.
        fresh = tuple(key for key in views if key.rpartition(".")[0] == last)
    loaded = tuple(key for key in views if key not in fresh)
    if not loaded:
        raise InvalidValue(f"{wrong}, but nothing in it has the shape that it has here")
    for key in loaded:
        if stored[key].dtype != spec.dtype or not bool(torch.isfinite(stored[key]).all()):
            raise InvalidValue(f"weights {path} must be finite and of {spec.dtype}, but {key} is not")
        views[key].copy_(stored[key])
    spec.load(model, values)
    return InitialWeights(
        file=str(path),
        source=source,
        loaded=loaded,
        fresh=fresh,
        digest=tensor_digest(values),
        data=data,
    )


def _read(
    path: Path, name: str, model: nn.Module, vocabulary: Vocabulary | None
) -> tuple[Mapping[str, Tensor], str, Mapping[str, Any] | None]:
    """The tensors of a file that are to be parameters; what the file is, in words, and trained on what."""
    try:
        content = read_archive(path)
    except FileNotFoundError:
        raise InvalidValue(
            f"weights: there is no file {path}; fedward pretrain writes such a file, and "
            "--set model.weights= does without"
        ) from None
    except OSError as error:
        raise InvalidValue(f"weights {path} cannot be read: {error.strerror or error}") from error
    if path.suffix == ".safetensors":
        stored, data = safetensors_file.from_bytes(content, f"weights {path}")
        return stored, str(path), data
    if not weights_file.is_weights_file(content):
        return _state_dict(content, path, model), str(path), None
    about, tensors = weights_file.from_bytes(content, f"weights {path}")
    if about.model["name"] != name:
        raise InvalidValue(f"weights {path} must be those of {name}, got those of {about.model['name']}")
    if not about.finished:
        raise InvalidValue(
            f"weights {path} are not finished: {about.epochs} of {about.wanted} "
            f"epoch{'s' * (about.wanted > 1)}; the same `fedward pretrain` "
            "goes on with them"
        )
    learns_words = any(
        isinstance(each, nn.Embedding) and each.weight.requires_grad for each in model.modules()
    )
    if learns_words and about.vocabulary != weights_file.words_digest(vocabulary):
        raise InvalidValue(f"weights {path} must be of the same words in the same order as the data's")
    return tensors, f"{path}, {about}", about.data


def _state_dict(content: bytes, path: Path, model: nn.Module) -> Mapping[str, Tensor]:
    try:
        stored = torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
        tensors = {str(key): value for key, value in stored.items()}
        if not all(isinstance(value, Tensor) for value in tensors.values()):
            raise TypeError("not all of it are tensors")
    except Exception as error:  # a file of any other kind makes torch raise almost anything
        # What torch says is about running what is in such files, which nobody should.
        raise InvalidValue(
            f"weights {path} must be a file of `fedward pretrain` or a state_dict of tensors, got another "
            "kind of file or a damaged one"
        ) from error
    trained = set(ParameterSpec.of(model).names)
    for key, ours in model.state_dict().items():
        if key not in trained and key in tensors:
            theirs = tensors.pop(key)
            if theirs.shape != ours.shape or not torch.equal(theirs, ours):
                raise InvalidValue(f"weights {path} were trained with another {key}, which is not trained")
    return tensors
