"""Arrays and tensors of somebody's own, read into plain tensors of this machine, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.plain import plain_view

_WIDEST = np.iinfo(np.int64).max
_FLOATS = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})
_WIDE_UNSIGNED = frozenset({torch.uint16, torch.uint32, torch.uint64})


def read_tensor(name: str, values: Any) -> Tensor:
    """Numbers of numpy, torch or plain lists as a plain tensor in this machine's order of bytes.

    Memory is shared where that can be. Nothing is guessed: a masked cell has no value, a sparse, nested or
    quantised tensor is not the numbers that it stands for, and a tensor of torch's device ``meta`` has none.

    >>> read_tensor("examples", np.array([1.5, 2.0], dtype=">f8"))
    tensor([1.5000, 2.0000], dtype=torch.float64)
    >>> read_tensor("labels", np.array([2**63], dtype=np.uint64))
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidValue: labels must be below 2**63, got 9223372036854775808
    """
    if issubclass(type(values), Tensor):
        return _plain(name, values)
    array = read_array(name, values)
    if array.dtype.kind not in "buif":
        raise InvalidType(f"{name} must be numbers, got an array of {array.dtype}")
    if array.dtype.kind == "u" and array.dtype.itemsize > 1:
        array = _signed(name, array)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # too large is not finite, and that is refused
            array = array.astype(np.float64)  # torch has no longer ones
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.writeable:
        array = array.copy()  # torch has no arrays that cannot be written, such as a mapped file
    return torch.from_numpy(np.ascontiguousarray(array))


def read_array(name: str, values: Any) -> NDArray[Any]:
    """Whatever numpy can make an array of; a masked one only if nothing of it is masked."""
    if issubclass(type(values), Tensor):
        return _plain(name, values).numpy()
    if isinstance(values, list | tuple):
        values = [each.detach() if isinstance(each, Tensor) else each for each in values]
    try:
        array = np.asarray(values)
    except Exception as error:  # lists of unequal lengths, and classes that fail to be arrays
        lines = str(error).splitlines() or [type(error).__name__]
        raise InvalidValue(f"{name} must be an array or a list of equal rows, got {lines[0]:.150}") from error
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        count = int(np.count_nonzero(np.ma.getmaskarray(values)))
        raise InvalidValue(f"{name} must have a value everywhere, got a masked array with {count} masked")
    return array


def read_owners(name: str, values: Any) -> NDArray[Any]:
    """The user of each example: whole numbers or texts, never a mixture, and no two that look the same.

    >>> read_owners("users", ["ann", 1])
    Traceback (most recent call last):
    ...
    fedward.base.validate.InvalidType: users must be whole numbers only or strings only, got both
    """
    array = read_array(name, values)
    if array.dtype.kind == "O" and all(isinstance(each, str) for each in array.flat):
        array = array.astype(str)  # what pandas calls a column of strings
    if array.dtype.kind not in "iuUS":
        raise InvalidType(f"{name} must be whole numbers or strings, got an array of {array.dtype}")
    if isinstance(values, list | tuple):
        if array.dtype.kind in "US" and not all(isinstance(each, str | bytes) for each in values):
            raise InvalidType(f"{name} must be whole numbers only or strings only, got both")
        # numpy cuts a text at the zeros of its end, and would make one user of two.
        ends = [each for each in values if isinstance(each, str | bytes) and each[-1:] in ("\0", b"\0")]
        if ends:
            raise InvalidValue(f"{name} must not end with a zero character, got {ends[0]!r:.60}")
    return array


def _plain(name: str, given: Tensor) -> Tensor:
    with torch._C.DisableTorchFunctionSubclass():
        layout, quantised = given.layout, given.is_quantized
    if layout != torch.strided or quantised:
        kind = "quantised" if quantised else str(layout).removeprefix("torch.")
        raise InvalidType(f"{name} must be a plain tensor, got a {kind} one; make it dense, in floats")
    view = plain_view(given, torch.device("cpu"))
    if view is None:
        raise InvalidType(
            f"{name} must be a plain tensor in main memory, got {type(given).__name__} of {given.device}; "
            "use .cpu(), and no class of its own"
        )
    if view.is_floating_point() and view.dtype not in _FLOATS:
        raise InvalidType(f"{name} must be numbers of at least 16 bits, got {view.dtype}")
    if view.dtype in _WIDE_UNSIGNED:
        return torch.from_numpy(_signed(name, view.numpy()))
    return view


def _signed(name: str, array: NDArray[Any]) -> NDArray[np.int64]:
    """Unsigned numbers as those that torch computes with; none may turn negative."""
    if array.size and int(array.max()) > _WIDEST:
        raise InvalidValue(f"{name} must be below 2**63, got {int(array.max())}")
    return array.astype(np.int64)
