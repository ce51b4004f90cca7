"""The border that whatever a user sends has to cross: behind it there are plain tensors and numbers only.

A tensor of somebody's own class answers for itself: what its norm is, its shape, whether it is finite. So
nothing is asked of it. Its memory is read, by torch and not by its class, into a tensor of the server's own.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import UninitializedBuffer, UninitializedParameter

from fedward.base.validate import InvalidType

_FLOATS = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})


def as_plain_or_none(sent: Any, like: Tensor) -> Tensor | None:
    """What was sent, as a plain tensor of the shape, type and device of ``like``; None if it is none.

    It is a copy: who sent it may keep its own and write there later, and changes nothing here. The shape must
    be exactly right: a row of shape (1,) would otherwise broadcast over a whole model. Sparse, quantized,
    nested and complex tensors, those without values or of another device, and those that compute by their own
    code (``__torch_dispatch__``) or stand for others (``torch.func``) are none.

    >>> as_plain_or_none(torch.nn.Parameter(torch.ones(2, dtype=torch.float64)), torch.zeros(2))
    tensor([1., 1.])
    >>> as_plain_or_none(torch.ones(1), torch.zeros(2)) is None
    True
    """
    view = plain_view(sent, like.device)
    # Before anything is copied: a shape costs nothing to claim, and could be larger than all memory.
    if view is None or view.shape != like.shape or view.dtype not in _FLOATS:
        return None
    return torch.empty_like(like, requires_grad=False).copy_(view)


def plain_view(given: Any, device: torch.device) -> Tensor | None:
    """A plain tensor in the memory of another one, of any class; None where there is no such memory."""
    # By its type: any object can say that it is a tensor (``__class__``), and torch crashes on one that lies.
    if not issubclass(type(given), Tensor):
        return None
    if torch._C._dispatch_keys(given).raw_repr() & ~_usual_keys(device):
        return None
    with torch._C.DisableTorchFunctionSubclass():
        view = Tensor.detach(given)
    return view if _has_memory(view) else None


def as_plain(name: str, given: Any) -> Tensor:
    """The same values without a class of their own, in the same memory; raises where that cannot be.

    >>> type(as_plain("weight", torch.nn.Parameter(torch.ones(2))))
    <class 'torch.Tensor'>
    >>> as_plain("weight", [1.0, 1.0])
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidType: weight must be a plain tensor, got list
    """
    view = plain_view(given, _device(given)) if issubclass(type(given), Tensor) else None
    # Torch's own classes for what has neither shape nor values yet.
    if view is None or issubclass(type(given), (UninitializedParameter, UninitializedBuffer)):
        raise InvalidType(f"{name} must be a plain tensor, got {type(given).__name__}")
    return view


def plain_number(sent: Any) -> float | None:
    """The number that was sent, as a float; None if it is none.

    >>> plain_number(3), plain_number("3"), plain_number(10**400)
    (3.0, None, None)
    """
    kind = type(sent)
    try:
        # Not float(sent): a class may answer that as it likes, and differently each time.
        if issubclass(kind, float):
            return float.__float__(sent)
        return int.__float__(sent) if issubclass(kind, int) else None
    except OverflowError:
        return None


@cache
def _usual_keys(device: torch.device) -> int:
    """What torch goes by when it computes with a plain tensor there, as bits; what has others is not plain.

    One of them is not in all: a real tensor may be negated only when it is read, such as the imaginary part
    of a conjugate.
    """
    negated = torch._C.DispatchKeySet(torch._C.DispatchKey.Negative)
    return (torch._C._dispatch_keys(torch.empty(0, device=device)) | negated).raw_repr()


def _device(given: Tensor) -> torch.device:
    # Torch's own attribute, which a class cannot put another before.
    with torch._C.DisableTorchFunctionSubclass():
        device: torch.device = vars(torch._C.TensorBase)["device"].__get__(given)
    return device


def _has_memory(view: Tensor) -> bool:
    """Whether all of it lies in its memory, which may have been taken away from under it."""
    if view.numel() == 0:
        return True
    extent = sum((size - 1) * stride for size, stride in zip(view.shape, view.stride(), strict=True))
    last = view.storage_offset() + extent
    return (last + 1) * view.element_size() <= view.untyped_storage().nbytes()
