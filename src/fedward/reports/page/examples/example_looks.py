"""The data of a run, where it can be loaded; and its examples as pictures, or as text."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from fedward.base.validate import InvalidValue
from fedward.core.examples import Examples, Ragged
from fedward.core.federation import Federation
from fedward.core.vocabulary import PADDING

_LONGEST = 160


@dataclass(frozen=True, kw_only=True)
class Look:
    """What an example looks like: a picture, or a text, or neither where it is a row of numbers."""

    picture: str = ""
    text: str = ""


def looks(federation: Federation, examples: Examples) -> list[Look]:
    """Each of these examples as people see it."""
    if not len(examples):
        return []
    x = examples.x
    rows = x[torch.arange(len(x))] if isinstance(x, Ragged) else x
    if not rows.is_floating_point():
        return [Look(text=_words(federation, row.flatten())) for row in rows]
    if is_picture(rows.shape[1:]):
        return [Look(picture=data_uri(each)) for each in as_pixels(rows.numpy())]
    return [Look() for _ in range(len(examples))]


def looks_of_groups(federation: Federation, groups: Sequence[Examples]) -> list[list[Look]]:
    """The looks of several groups of examples, stretched alike so that they can be compared."""
    if any(isinstance(group.x, Ragged) for group in groups):
        return [looks(federation, group) for group in groups]
    joined = Examples(torch.cat([group.x for group in groups]), torch.cat([g.y for g in groups]))  # type: ignore[misc]
    found = iter(looks(federation, joined))
    return [[next(found) for _ in range(len(group))] for group in groups]


def class_name(federation: Federation | None, label: int) -> str:
    """What a class is called: a word where words are predicted and the data is at hand, else its number."""
    if federation is None or federation.vocabulary is None:
        return str(label)
    words = federation.vocabulary
    return words.word_of_label(label) if federation.num_classes == words.num_labels else str(label)


def _words(federation: Federation, tokens: Tensor) -> str:
    known = federation.vocabulary
    shown = [token for token in tokens.tolist() if token != PADDING]
    text = " ".join(str(token) if known is None else known.word(token) for token in shown)
    # The end of a text is where a trigger stands.
    return text if len(text) <= _LONGEST else f"... {text[-_LONGEST:]}"


def is_picture(shape: Sequence[int]) -> bool:
    """Whether examples of this shape are pictures: one channel or three, and more than a row.

    >>> is_picture((1, 28, 28)), is_picture((3, 32, 32)), is_picture((64,))
    (True, True, False)
    """
    return len(shape) == 3 and shape[0] in (1, 3) and min(shape[1:]) > 1


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """The address of a picture ``[channels, height, width]`` that holds the picture itself.

    >>> data_uri(np.zeros((1, 2, 2), dtype=np.uint8))[:22]
    'data:image/png;base64,'
    """
    if not is_picture(pixels.shape):
        raise InvalidValue(f"a picture must have one or three channels, got shape {pixels.shape}")
    file = io.BytesIO()
    picture = Image.fromarray(pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0))
    picture.save(file, format="png", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def as_pixels(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Examples ``[n, channels, height, width]`` as brightness from 0 to 255.

    Values from 0 to 1 are that; others (standardised data) are stretched, each channel by itself and all
    examples alike, so that pictures of the same call can be compared.
    """
    low, high = values.min(axis=(0, 2, 3), keepdims=True), values.max(axis=(0, 2, 3), keepdims=True)
    if low.min() < 0 or high.max() > 1:
        values = (values - low) / np.maximum(high - low, 1e-12)
    return np.rint(np.clip(values, 0, 1) * 255).astype(np.uint8)
