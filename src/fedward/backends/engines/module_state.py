"""The state that a module keeps between calls and never sends, restored before every user."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor, nn

_OF_EVERY_MODULE = frozenset(vars(nn.Module()))


class ModuleState:
    """Takes note of a module's state, to put it back before every user.

    Otherwise a user would move more than its own update, and rows would depend on who ran before.

    It covers buffers and, of modules that are not torch's own, attributes: which object each one is, and what
    is in tensors, lists, dictionaries and sets. It does not look into objects in those, or at variables
    outside the module.

    Args:
      module: as it shall be put back.
      sent: names of buffers that are sent as parameters are.

    >>> class Counting(nn.Module):
    ...     calls = 0
    ...     def forward(self, x):
    ...         self.calls += 1
    ...         return x * self.calls
    >>> module = Counting()
    >>> state = ModuleState(module)
    >>> module(2), module(2), state.restore(), module(2)
    (2, 4, None, 2)
    """

    def __init__(self, module: nn.Module, sent: Collection[str] = ()) -> None:
        self._buffers = [
            (module.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2], buffer.clone())
            for name, buffer in module.named_buffers()
            if name not in sent
        ]
        own = [each for each in module.modules() if not type(each).__module__.startswith("torch.nn.")]
        self._attributes = [(vars(each), _own_attributes(vars(each))) for each in own]
        self._refill = [
            refill for _, plain in self._attributes for refill in map(_make_refill, plain.values()) if refill
        ]

    def restore(self) -> None:
        """Puts everything back."""
        for owner, name, initial in self._buffers:
            setattr(owner, name, initial.clone())
        for attributes, plain in self._attributes:
            for name in _own_attributes(attributes).keys() - plain.keys():
                del attributes[name]
            attributes.update(plain)
        for refill in self._refill:
            refill()


def _own_attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if name not in _OF_EVERY_MODULE}


def _make_refill(value: Any) -> Callable[[], None] | None:
    """What puts the content back that a value has now; None for one that has none or is not looked into."""
    if isinstance(value, Tensor):
        return _make_tensor_refill(value)
    if type(value) in (dict, set):
        content = value.copy()

        def refill() -> None:
            value.clear()
            value.update(content)

        return refill
    if type(value) in (list, deque):
        items = tuple(value)

        def replace() -> None:
            value.clear()
            value.extend(items)

        return replace
    return None


def _make_tensor_refill(tensor: Tensor) -> Callable[[], None]:
    content = tensor.detach().clone()
    version = None if tensor.is_inference() else tensor._version

    def refill() -> None:
        nonlocal version
        if version is None or tensor._version != version:
            with torch.no_grad():
                tensor.copy_(content)
            version = None if version is None else tensor._version

    return refill
