"""The types of the compiled module; ``cpp/module.cpp`` is its source."""

from collections.abc import Sequence

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

class Engine:
    def __init__(
        self,
        channels: int,
        height: int,
        width: int,
        layers: Sequence[Layer],
        parameters: int,
        instructions: str = "auto",
    ) -> None: ...
    def train(
        self,
        start: NDArray[np.float32],
        x: NDArray[np.float32],
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
        x: NDArray[np.float32],
        y: NDArray[np.int64],
        index: NDArray[np.int64],
    ) -> NDArray[np.float32]: ...
    def clipped_sum(
        self,
        model: NDArray[np.float32],
        x: NDArray[np.float32],
        y: NDArray[np.int64],
        index: NDArray[np.int64],
        bounds: Sequence[float],
    ) -> NDArray[np.float64]: ...
    def scores(
        self, model: NDArray[np.float32], x: NDArray[np.float32], first: int, count: int
    ) -> NDArray[np.float32]: ...
    @property
    def classes(self) -> int: ...
    @property
    def chunk(self) -> int: ...
    @property
    def instructions(self) -> str: ...

def instruction_set(name: str = "auto") -> str: ...
