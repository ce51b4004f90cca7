"""What the tests of a round share: a tiny setting, and rows that no server should take."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedward.core.parameters import ParameterSpec
from fedward.core.types import ServerState
from support import tiny_federation, tiny_model

FEDERATION = tiny_federation()
MODEL = tiny_model()
SIZE = ParameterSpec.of(MODEL).size


def start(algorithm: Any, replica: int = 0) -> ServerState:
    state: ServerState = algorithm.init(ParameterSpec.of(MODEL).flatten(MODEL), replica)
    return state


def zeros(user: int) -> Tensor:
    return torch.zeros(SIZE)


GARBAGE: dict[str, Any] = {
    "nan": torch.full((SIZE,), math.nan),
    "one nan in a huge update": torch.cat([torch.full((SIZE - 1,), 1e30), torch.tensor([math.nan])]),
    "inf": torch.full((SIZE,), math.inf),
    "minus inf": torch.cat([torch.zeros(SIZE - 1), torch.tensor([-math.inf])]),
    "too short": torch.ones(SIZE - 1),
    "too long": torch.ones(SIZE + 1),
    "broadcasts as (1,)": torch.ones(1),
    "broadcasts as ()": torch.tensor(1.0),
    "broadcasts as (1, n)": torch.ones(1, SIZE),
    "a column": torch.ones(SIZE, 1),
    "empty": torch.ones(0),
    "integers": torch.ones(SIZE, dtype=torch.int64),
    "booleans": torch.ones(SIZE, dtype=torch.bool),
    "complex": torch.ones(SIZE, dtype=torch.complex64),
    "sparse": torch.ones(SIZE).to_sparse(),
    "float64 beyond float32": torch.full((SIZE,), 1e300, dtype=torch.float64),
    "not a tensor": [1.0] * SIZE,
    "numpy": np.ones(SIZE, dtype=np.float32),
    "text": "update",
}


def numbered(user: int) -> Tensor:
    return torch.arange(SIZE, dtype=torch.float32) + 100 * user
