from __future__ import annotations

import pytest

from fedward.core.federation import Federation
from fedward.datasets import digits


@pytest.fixture(scope="session")
def digits_of_12() -> Federation:
    return digits.load(users=12, seed=1)
