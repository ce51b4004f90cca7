"""Faces with what is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDE = 48


@dataclass(frozen=True, kw_only=True, eq=False)
class Faces:
    """Images ``[n, 3, 48, 48]``, gender, person, and the probability of each property."""

    x: NDArray[np.uint8]
    y: NDArray[np.int64]
    users: NDArray[Any]
    properties: dict[str, NDArray[np.float32]]

    def __len__(self) -> int:
        return len(self.y)

    def select(self, chosen: NDArray[np.bool_]) -> Faces:
        """Some of them."""
        return Faces(
            x=self.x[chosen],
            y=self.y[chosen],
            users=self.users[chosen],
            properties={name: values[chosen] for name, values in self.properties.items()},
        )
