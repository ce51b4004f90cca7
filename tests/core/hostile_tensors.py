"""Tensors that lie about themselves, and things that only look like tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses import FakeTensorMode

Make = Callable[[Tensor], Any]


class ZeroNorm(Tensor):
    """Says 0 to whoever asks for its norm or its sum, and keeps its class in all that is made of it."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.linalg.vector_norm, torch.norm, Tensor.norm, Tensor.sum, torch.sum):
            return torch.zeros((), dtype=torch.float64)
        return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]

    def __deepcopy__(self, memo: Any) -> Tensor:  # torch has none for the weights of a model that is copied
        copied = self.as_subclass(Tensor).detach().clone().as_subclass(ZeroNorm)
        return nn.Parameter(copied) if isinstance(self, nn.Parameter) else copied


class AlwaysFine(Tensor):
    """Says that it is whatever was asked for: finite, of any shape, of any type."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.isfinite, Tensor.isfinite, torch.isnan):
            return torch.tensor(True)
        return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]

    shape = property(lambda self: torch.Size([23]))
    dtype = torch.float32
    layout = torch.strided
    device = torch.device("cpu")
    is_floating_point = lambda self: True  # noqa: E731
    __float__ = lambda self: 0.0  # noqa: E731


class SwapsItself(Tensor):
    """Gives something else than itself to whoever makes a copy."""

    def _other(self, *args: Any, **kwargs: Any) -> Tensor:
        return torch.full((23,), 1e9).as_subclass(SwapsItself)

    detach = clone = to = double = contiguous = float = _other


class Raises(Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError("nobody may ask me anything")


class Hides(Tensor):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"nobody may ask for my {name}")


def _in_inference_mode(content: Tensor) -> Tensor:
    with torch.inference_mode():
        return content.clone()


def _made_by_autograd(content: Tensor) -> Tensor:
    return (content.clone().requires_grad_() * 1.0).as_subclass(ZeroNorm)


def _spread_out(content: Tensor) -> Tensor:
    wide = torch.full((len(content), 3), 7.0, dtype=content.dtype)
    wide[:, 1] = content
    return wide[:, 1].as_subclass(ZeroNorm)


READABLE: dict[str, Make] = {
    "says 0 for its norm": lambda content: content.as_subclass(ZeroNorm),
    "says yes to everything": lambda content: content.as_subclass(AlwaysFine),
    "gives another for itself": lambda content: content.as_subclass(SwapsItself),
    "raises when asked": lambda content: content.as_subclass(Raises),
    "hides its attributes": lambda content: content.as_subclass(Hides),
    "a parameter": nn.Parameter,
    "a parameter that lies": lambda content: nn.Parameter(content.as_subclass(ZeroNorm)),
    "wants a gradient": lambda content: content.clone().requires_grad_(),
    "made by autograd": _made_by_autograd,
    "made in inference mode": _in_inference_mode,
    "negated when read": lambda content: torch.complex(torch.zeros_like(content), -content).conj().imag,
    "every third in memory": _spread_out,
    "of double precision": lambda content: content.double().as_subclass(ZeroNorm),
}
"""Classes and kinds of tensors whose memory holds the content: it is taken, whatever they say."""


class Dispatches(Tensor):
    """Computes by its own code, below everything that a class can do."""

    @staticmethod
    def __new__(cls, content: Tensor) -> Dispatches:
        return Tensor._make_subclass(cls, content)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return args[0] if func is torch.ops.aten.detach.default else torch.zeros(())


class Wraps(Tensor):
    """Has a shape and no memory; what it holds is what its code says."""

    @staticmethod
    def __new__(cls, content: Tensor) -> Wraps:
        wrapped: Wraps = Tensor._make_wrapper_subclass(cls, content.shape, dtype=content.dtype)
        return wrapped

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return torch.zeros(())


class OnlySaysSo:
    """No tensor at all. Torch crashes when it is given one of these."""

    __class__ = Tensor  # type: ignore[assignment]

    def __init__(self, content: Tensor) -> None:
        self.shape, self.dtype, self.layout, self.device = content.shape, content.dtype, torch.strided, "cpu"


def _fake(content: Tensor) -> Tensor:
    with FakeTensorMode() as mode:
        return mode.from_tensor(content)


def _from_within(transform: Callable[..., Any], content: Tensor) -> Tensor:
    """What a function that torch transforms sees, kept longer than the transform."""
    seen: list[Tensor] = []

    def look(x: Tensor) -> Tensor:
        seen.append(x)
        return x.sum()

    transform(look)(content)
    return seen[0]


def _without_memory(content: Tensor) -> Tensor:
    emptied = content.clone()
    emptied.untyped_storage().resize_(0)
    return emptied


def _memory_for_half(content: Tensor) -> Tensor:
    halved = content.clone()
    halved.untyped_storage().resize_(halved.nbytes // 2)
    return halved.as_subclass(ZeroNorm)


UNFIT: dict[str, Make] = {
    "computes by its own code": Dispatches,
    "a wrapper": Wraps,
    "a fake": _fake,
    "only says that it is one": OnlySaysSo,
    "without values": lambda content: content.to("meta"),
    "sparse": lambda content: content.to_sparse(),
    "sparse rows": lambda content: content[None].to_sparse_csr(),
    "quantized": lambda content: torch.quantize_per_tensor(content, 0.1, 0, torch.qint8),
    "nested": lambda content: torch.nested.nested_tensor([content]),
    "of a library": lambda content: content.to_mkldnn(),
    "complex": lambda content: content.to(torch.complex64).as_subclass(AlwaysFine),
    "of eight bits": lambda content: content.to(torch.float8_e5m2),
    "from within vmap": lambda content: _from_within(torch.vmap, torch.stack([content, content])),
    "from within grad": lambda content: _from_within(torch.func.grad, content),
    "zeros without memory": lambda content: torch._efficientzerotensor(content.shape),
    "without memory": _without_memory,
    "with memory for half of it": _memory_for_half,
    "larger than all memory": lambda content: content[:1].expand(10**15).as_subclass(AlwaysFine),
    "one that broadcasts": lambda content: content[:1].as_subclass(AlwaysFine),
    "a parameter without a shape": lambda content: nn.UninitializedParameter(),
    "whole numbers, of a class": lambda content: torch.ones(len(content)).long().as_subclass(AlwaysFine),
}
"""What cannot safely be made a plain tensor: it is rejected and counted."""


class Small(float):
    """A number that says of itself that it is smaller than any other."""

    def __lt__(self, other: object) -> bool:
        return True

    def __le__(self, other: object) -> bool:
        return True

    def __gt__(self, other: object) -> bool:
        return False

    def __ge__(self, other: object) -> bool:
        return False

    def __float__(self) -> float:
        return 0.0
