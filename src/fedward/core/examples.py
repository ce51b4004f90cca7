"""Examples in flat or ragged arrays: the data of one user, of a federation, or of a test set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.base.forked import use_one_thread_after_a_fork
from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.own_arrays import read_tensor
from fedward.core.plain import as_plain

# Whatever is computed begins with examples.
use_one_thread_after_a_fork()


@dataclass(frozen=True, eq=False)
class Ragged:
    """Sequences of different lengths: example i is ``values[offsets[i]:offsets[i + 1]]``.

    A batch is padded at the end with zeros to its longest member, so token 0 is the padding.

    >>> tweets = Ragged.from_sequences([[5, 3], [7], [2, 2, 9]])
    >>> tweets[torch.tensor([0, 1])]
    tensor([[5, 3],
            [7, 0]])
    """

    values: Tensor
    offsets: Tensor

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", as_plain("ragged values", self.values))
        object.__setattr__(self, "offsets", as_plain("ragged offsets", self.offsets))
        steps = self.offsets.diff()
        if self.offsets.dtype != torch.int64 or self.offsets.ndim != 1 or len(self.offsets) < 1:
            raise InvalidType("ragged offsets must be one row of int64")
        if int(self.offsets[0]) != 0 or int(self.offsets[-1]) != len(self.values) or bool((steps < 0).any()):
            raise InvalidValue(f"ragged offsets must rise from 0 to the number of values, {len(self.values)}")
        if bool((steps == 0).any()):
            raise InvalidValue(f"example {int((steps == 0).nonzero()[0])} is an empty sequence")

    @classmethod
    def from_sequences(cls, sequences: Sequence[Any]) -> Ragged:
        if len(sequences) == 0:
            raise InvalidValue("ragged examples must hold at least one sequence, got 0")
        parts = [torch.as_tensor(sequence) for sequence in sequences]
        lengths = torch.tensor([0] + [len(part) for part in parts])
        return cls(torch.cat(parts), lengths.cumsum(0))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Tensor) -> Tensor:
        starts, ends = self.offsets[index], self.offsets[index + 1]
        rows = [self.values[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

    def span(self, start: int, stop: int) -> Ragged:
        """Examples start to stop, sharing memory."""
        offsets = self.offsets[start : stop + 1]
        return Ragged(self.values[int(offsets[0]) : int(offsets[-1])], offsets - offsets[0])

    def select(self, index: Tensor) -> Ragged:
        """A copy with the given examples in the given order."""
        lengths = self.offsets.diff()[index]
        offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
        # Position of every kept value: its place within its example, plus where the example began.
        shift = torch.repeat_interleave(self.offsets[index] - offsets[:-1], lengths)
        return Ragged(self.values[torch.arange(len(shift)) + shift], offsets)


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs ``x`` (flat ``[n, ...]`` or ragged) and one label each.

    Both become plain tensors, whatever class they are given in: a picture of torchvision's, say.
    """

    x: Tensor | Ragged
    y: Tensor

    def __post_init__(self) -> None:
        if not isinstance(self.x, Ragged):
            object.__setattr__(self, "x", as_plain("examples", self.x))
        object.__setattr__(self, "y", as_plain("labels", self.y))
        if len(self.x) != len(self.y):
            raise InvalidValue(f"there are {len(self.x)} examples but {len(self.y)} labels")

    @classmethod
    def from_arrays(cls, x: Any, y: Any, *, copy: bool = True) -> Examples:
        """Checks arrays of numpy, torch or plain lists and makes examples of them.

        They are copies: what is written to an array later does not reach them, nor the other way round.
        Without ``copy`` memory is shared where that can be, and nobody may write to it any more.
        """
        examples = cls(_inputs(x), _labels(y))
        return examples.apart_from(x, y) if copy else examples

    def apart_from(self, *arrays: Any) -> Examples:
        """The same examples, with copies of those tensors that share memory with one of the arrays."""
        x: Tensor | Ragged
        if isinstance(self.x, Ragged):
            x = Ragged(_apart(self.x.values, arrays), _apart(self.x.offsets, arrays))
        else:
            x = _apart(self.x, arrays)
        return Examples(x, _apart(self.y, arrays))

    def __len__(self) -> int:
        return len(self.y)

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """Copies of the given examples, for whoever asks to write to."""
        return self.x[index], self.y[index]

    def span(self, start: int, stop: int) -> Examples:
        """Examples start to stop, sharing memory."""
        x = self.x.span(start, stop) if isinstance(self.x, Ragged) else self.x[start:stop]
        return Examples(x, self.y[start:stop])

    def select(self, index: Tensor) -> Examples:
        """A copy with the given examples in the given order."""
        x = self.x.select(index) if isinstance(self.x, Ragged) else self.x[index]
        return Examples(x, self.y[index])


def _inputs(x: Any) -> Tensor | Ragged:
    if isinstance(x, Ragged):
        return Ragged(_values(x.values), x.offsets)
    return _values(read_tensor("examples", x))


def _values(values: Tensor) -> Tensor:
    if values.ndim == 0 or (not values[:1].numel() and len(values)):
        raise InvalidValue(f"examples must each have at least one number, got shape {tuple(values.shape)}")
    if values.dtype in (torch.uint8, torch.int8, torch.bool):
        raise InvalidType(
            f"examples must be floats (images, features) or int64 (tokens), got {values.dtype}; "
            "scale images first, for instance x / 255"
        )
    if values.is_complex():
        raise InvalidType(f"examples must be real, got {values.dtype}")
    if not values.is_floating_point():
        return values.to(torch.int64)
    values = values.to(torch.float32)
    if not bool(torch.isfinite(values).all()):
        bad = int((~torch.isfinite(values)).flatten(1).any(1).nonzero()[0]) if values.ndim > 1 else "?"
        raise InvalidValue(f"examples must be finite; example {bad} holds NaN or infinity")
    return values


def _labels(y: Any) -> Tensor:
    labels = read_tensor("labels", y)
    if labels.is_floating_point() or labels.is_complex() or labels.dtype == torch.bool:
        raise InvalidType(f"labels must be whole numbers, got {labels.dtype}")
    if labels.ndim != 1:
        raise InvalidValue(
            f"labels must be one whole number for each example, got shape {tuple(labels.shape)}"
        )
    if len(labels) and int(labels.min()) < 0:
        raise InvalidValue(f"labels must be at least 0, got {int(labels.min())}")
    return labels.to(torch.int64)


def _apart(tensor: Tensor, arrays: Iterable[Any]) -> Tensor:
    return tensor.clone() if any(_share(tensor, array) for array in arrays) else tensor


def _share(tensor: Tensor, array: Any) -> bool:
    if isinstance(array, Ragged):
        return _share(tensor, array.values) or _share(tensor, array.offsets)
    if isinstance(array, Tensor):
        theirs = as_plain("examples", array).untyped_storage().data_ptr()
        return tensor.untyped_storage().data_ptr() == theirs
    if isinstance(array, list | tuple) or tensor.device.type != "cpu":
        return False
    # A table of pandas, say, gives its own memory for an array.
    return np.may_share_memory(tensor.numpy(), np.asarray(array))
