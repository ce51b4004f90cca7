"""The curves that this process has computed, up to a number of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar


class HasBytes(Protocol):
    """Anything that knows how large it is."""

    @property
    def nbytes(self) -> int: ...


_Curve = TypeVar("_Curve", bound=HasBytes)


class CurveMemory(Generic[_Curve]):
    """Curves by name; those that were not asked for the longest go first.

    Counted in bytes: most curves have a few thousand points and some a hundred thousand. A certification at
    eight levels of noise asks for some 400 of them, in one order before it trains and in the same afterwards.

    >>> memory: CurveMemory[memoryview] = CurveMemory(most_bytes=2)
    >>> sizes = [memory.recall_or_compute(name, lambda: memoryview(b"x")).nbytes for name in "ababcb"]
    >>> memory.computed, memory.held
    (3, 2)
    """

    def __init__(self, *, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._curves: OrderedDict[Hashable, _Curve] = OrderedDict()
        self.computed = 0

    @property
    def held(self) -> int:
        """How many there are."""
        return len(self._curves)

    def recall_or_compute(self, name: Hashable, compute: Callable[[], _Curve]) -> _Curve:
        """The curve of this name, which is computed if it is not held."""
        curve = self._curves.pop(name, None)
        if curve is None:
            curve = compute()
            self.computed += 1
            self._bytes += curve.nbytes
        self._curves[name] = curve
        while self._bytes > self._most:
            _, gone = self._curves.popitem(last=False)
            self._bytes -= gone.nbytes
        return curve
