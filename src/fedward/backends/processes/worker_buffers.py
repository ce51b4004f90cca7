"""Tensors as bytes: how they lie in shared memory and how they go through a socket."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedward.core.examples import Examples, Ragged

# What torch itself aligns to: sums must not come out differently because data lies elsewhere.
ALIGNMENT = 64

AT_ONCE = 64
"""Tensors in one system call: together more than a socket takes, and fewer than any system allows."""

_Bytes = NDArray[np.uint8]


class Place(NamedTuple):
    """Where one tensor lies in a block; ``order`` lists its dimensions from the slowest to the fastest."""

    offset: int
    dtype: str
    shape: tuple[int, ...]
    order: tuple[int, ...]


def lay_out(tensors: Iterable[Tensor]) -> tuple[list[Place], int]:
    """A place for each tensor, and how many bytes they take together.

    The order of dimensions in memory is kept: convolutions choose their method by it, and with it the last
    bits of a result.

    >>> lay_out([torch.zeros(3), torch.zeros(2, 2, dtype=torch.int64)])[1]
    96
    """
    places, end = [], 0
    for tensor in tensors:
        order = _memory_order(tensor)
        shape = tuple(tensor.shape[dimension] for dimension in order)
        start = -(-end // ALIGNMENT) * ALIGNMENT
        places.append(Place(start, str(tensor.dtype).removeprefix("torch."), shape, order))
        end = start + tensor.numel() * tensor.element_size()
    return places, end


def store(tensors: Iterable[Tensor], places: Iterable[Place], block: Tensor) -> None:
    """Copies tensors to their places in a block of bytes."""
    for tensor, place in zip(tensors, places, strict=True):
        _order_as_in_memory(block, place).copy_(tensor.detach().permute(place.order))


def pack(tensors: Sequence[Tensor]) -> tuple[list[Place], Tensor]:
    """The tensors copied into one new block."""
    places, size = lay_out(tensors)
    block = torch.empty(size, dtype=torch.uint8)
    store(tensors, places, block)
    return places, block


def unpack(block: Tensor, places: Iterable[Sequence[object]]) -> list[Tensor]:
    """The tensors of a block, sharing its memory."""
    found = []
    for place in (Place._make(place) for place in places):
        back = sorted(range(len(place.order)), key=place.order.__getitem__)
        found.append(_order_as_in_memory(block, place).permute(back))
    return found


class Kind(NamedTuple):
    """Tensors in a row that are alike; ``shape`` is in the order of memory, as in ``Place``."""

    number: int
    dtype: str
    shape: tuple[int, ...]
    order: tuple[int, ...]


def pack_tensors(tensors: Iterable[Tensor]) -> tuple[list[Kind], list[_Bytes]]:
    """What has to be said of the tensors, and their bytes, not copied if that can be.

    >>> pack_tensors([torch.zeros(3), torch.ones(3)])[0]
    [Kind(number=2, dtype='float32', shape=(3,), order=(0,))]
    """
    kinds: list[Kind] = []
    several = []
    for tensor in tensors:
        order = _memory_order(tensor)
        laid = tensor.detach().permute(order)
        kind = Kind(1, str(tensor.dtype).removeprefix("torch."), tuple(laid.shape), order)
        if kinds and kinds[-1][1:] == kind[1:]:
            kinds[-1] = kinds[-1]._replace(number=kinds[-1].number + 1)
        else:
            kinds.append(kind)
        several.append(_bytes_of(laid.contiguous()))
    return kinds, several


def allocate_tensors(kinds: Iterable[Sequence[Any]]) -> tuple[list[Tensor], list[_Bytes]]:
    """New tensors, each in memory of its own, and their bytes, to be read into."""
    tensors, several = [], []
    for number, dtype, shape, order in kinds:
        back = sorted(range(len(order)), key=order.__getitem__)
        for _ in range(number):
            tensor = torch.empty(shape, dtype=getattr(torch, dtype))
            several.append(_bytes_of(tensor))
            tensors.append(tensor if len(back) == 1 else tensor.permute(back))
    return tensors, several


def read(file: int, several: Iterable[_Bytes]) -> None:
    """Fills one after the other, in as few system calls as possible."""
    _move(os.readv, file, several)


def write(file: int, several: Iterable[_Bytes]) -> None:
    """Writes one after the other."""
    _move(os.writev, file, several)


def tensors_of(examples: Examples) -> list[Tensor]:
    """The tensors that examples are made of: two for flat ones, three for ragged ones."""
    if isinstance(examples.x, Ragged):
        return [examples.x.values, examples.x.offsets, examples.y]
    return [examples.x, examples.y]


def examples_of(tensors: Sequence[Tensor]) -> Examples:
    """The examples that are made of these tensors."""
    *x, y = tensors
    return Examples(Ragged(*x) if len(x) == 2 else x[0], y)


def _move(call: Callable[[int, Sequence[Any]], int], file: int, several: Iterable[_Bytes]) -> None:
    left = [each for each in several if len(each)]
    start = 0
    while start < len(left):
        moved = call(file, left[start : start + AT_ONCE])
        if moved == 0:
            raise EOFError
        while moved and moved >= len(left[start]):
            moved -= len(left[start])
            start += 1
        if moved:
            left[start] = left[start][moved:]


def _bytes_of(tensor: Tensor) -> _Bytes:
    found: _Bytes = tensor.view(-1).view(torch.uint8).numpy()
    return found


def _memory_order(tensor: Tensor) -> tuple[int, ...]:
    strides = tensor.stride()
    order = tuple(sorted(range(tensor.ndim), key=lambda dimension: -strides[dimension]))
    # Overlapping or with gaps: what comes out of such a tensor has the plain order anyway.
    return order if tensor.permute(order).is_contiguous() else tuple(range(tensor.ndim))


def _order_as_in_memory(block: Tensor, place: Place) -> Tensor:
    dtype = getattr(torch, place.dtype)
    end = place.offset + torch.Size(place.shape).numel() * dtype.itemsize
    return block[place.offset : end].view(dtype).view(place.shape)
