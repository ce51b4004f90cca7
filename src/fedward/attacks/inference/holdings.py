"""Examples with a property and without it, to draw from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fedward.base.validate import InvalidType, InvalidValue
from fedward.core.examples import Examples
from fedward.core.federation import Federation

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Holdings:
    """Somebody's examples: ``having`` are the places of those with the property, ``lacking`` of others."""

    examples: Examples
    having: Places
    lacking: Places

    @classmethod
    def of(cls, examples: Examples, has_property: Any, whose: str) -> Holdings:
        """Takes note of who has what; both kinds must be there."""
        found = torch.as_tensor(has_property)
        if found.dtype != torch.bool:
            raise InvalidType(f"property must be true or false for each example, got {found.dtype}")
        if found.shape != (len(examples),):
            raise InvalidValue(
                f"property must be one value for each of {len(examples)} examples of {whose}, "
                f"got shape {tuple(found.shape)}"
            )
        truth = found.numpy()
        if truth.all() or not truth.any():
            raise InvalidValue(
                f"{whose} must have examples with the property and without it, got {int(truth.sum())} of "
                f"{len(truth)} with it"
            )
        return cls(examples=examples, having=np.flatnonzero(truth), lacking=np.flatnonzero(~truth))

    @classmethod
    def of_user(cls, federation: Federation, has_property: torch.Tensor, user: int, whose: str) -> Holdings:
        """What a user of a federation owns."""
        start, stop = int(federation.offsets[user]), int(federation.offsets[user + 1])
        return cls.of(federation.user(user), has_property[start:stop], f"{whose} {user}")

    def most(self, share: float) -> int:
        """How many can be drawn with that share having the property, and as many with none."""
        return max(1, min(len(self.lacking), int(len(self.having) / share)))

    def drawn(self, size: int, share: float, rng: np.random.Generator) -> Examples:
        """So many examples of which that share has the property, at least one unless the share is 0.

        Without replacement where there are enough.
        """
        count = max(1, round(share * size)) if share > 0 else 0
        places = np.concatenate([_some(self.having, count, rng), _some(self.lacking, size - count, rng)])
        return self.examples.select(torch.from_numpy(rng.permutation(places)))


def _some(places: Places, count: int, rng: np.random.Generator) -> Places:
    return rng.choice(places, size=count, replace=count > len(places))
