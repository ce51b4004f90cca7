"""The types of the compiled module; ``cpp/module.cpp`` is its source."""

from collections.abc import Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

class Layer:
    def __init__(
        self,
        kind: str,
        *,
        outputs: int = 0,
        kernel: tuple[int, int] = ...,
        stride: tuple[int, int] = ...,
        padding: tuple[int, int] = ...,
        counts_padding: bool = True,
        out: tuple[int, int] = ...,
        weight_at: int = 0,
        bias_at: int = -1,
        channels_last: bool = True,
        groups: int = 0,
        epsilon: float = 0.0,
    ) -> None: ...

Inputs = TypeVar("Inputs", contravariant=True)

class _Compiled(Generic[Inputs]):
    """What both engines have; it is not there when the module is imported."""

    def train(
        self,
        start: NDArray[np.float32],
        x: Inputs,
        y: NDArray[np.int64],
        order: NDArray[np.int64],
        sizes: Sequence[int],
        *,
        learning_rate: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        bound: float = 0.0,
    ) -> NDArray[np.float32]: ...
    def gradient(
        self,
        model: NDArray[np.float32],
        x: Inputs,
        y: NDArray[np.int64],
        index: NDArray[np.int64],
    ) -> NDArray[np.float32]: ...
    def clipped_sum(
        self,
        model: NDArray[np.float32],
        x: Inputs,
        y: NDArray[np.int64],
        index: NDArray[np.int64],
        bounds: Sequence[float],
    ) -> NDArray[np.float64]: ...
    def scores(
        self, model: NDArray[np.float32], x: Inputs, first: int, count: int
    ) -> NDArray[np.float32]: ...
    @property
    def classes(self) -> int: ...
    @property
    def chunk(self) -> int: ...
    @property
    def instructions(self) -> str: ...

class Engine(_Compiled[NDArray[np.float32]]):
    def __init__(
        self,
        channels: int,
        height: int,
        width: int,
        layers: Sequence[Layer],
        parameters: int,
        instructions: str = "auto",
    ) -> None: ...

class Lstm:
    def __init__(
        self,
        *,
        inputs: int,
        units: int,
        input_at: int,
        recurrent_at: int,
        input_bias_at: int,
        recurrent_bias_at: int,
    ) -> None: ...

class Tokens:
    def __init__(self, values: NDArray[np.int64], offsets: NDArray[np.int64]) -> None: ...

class TextEngine(_Compiled[Tokens]):
    def __init__(
        self,
        *,
        tokens: int,
        numbers: int,
        table: int | NDArray[np.float32],
        padding: int,
        layers: Sequence[Lstm],
        classes: int,
        output_at: tuple[int, int],
        parameters: int,
        instructions: str = "auto",
    ) -> None: ...
    def covers(self, x: Tokens) -> bool: ...

def instruction_set(name: str = "auto") -> str: ...
