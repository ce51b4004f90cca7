"""Entropy of the system that a seed gives again: otherwise no failure with it could be seen twice."""

from __future__ import annotations

import random

import pytest

from fedward.base import durable_files, randomness
from fedward.local import dp_sgd


class SystemEntropy:
    """Stands for the module ``secrets``.

    Args:
      seed: other numbers for every other one.
    """

    def __init__(self, seed: str) -> None:
        self._source = random.Random(f"entropy {seed}")

    def randbits(self, count: int) -> int:
        return self._source.getrandbits(count)

    def token_bytes(self, count: int) -> bytes:
        return self._source.randbytes(count)

    def token_hex(self, count: int) -> str:
        return self._source.randbytes(count).hex()

    def replace_real(self, patch: pytest.MonkeyPatch) -> None:
        """Puts it into the modules that noise and names come from; keys of caches stay real."""
        for module in (durable_files, randomness, dp_sgd):
            patch.setattr(module, "secrets", self)
