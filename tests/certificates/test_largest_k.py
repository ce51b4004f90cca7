from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedward.certificates.largest_k import largest


@given(limits=st.lists(st.integers(-1, 70), min_size=1, max_size=20), most=st.integers(0, 60))
def test_every_example_gets_its_limit_and_each_k_is_asked_once(limits: list[int], most: int) -> None:
    wanted = np.array(limits)
    asked = []

    def holds(k: int, which: Any) -> Any:
        asked.append(k)
        assert which.any()
        return k <= wanted[which]

    assert largest(holds, wanted >= 0, most).tolist() == np.minimum(wanted, most).tolist()
    assert len(asked) == len(set(asked))
    assert all(1 <= k <= most for k in asked)


def test_one_example_takes_twice_the_logarithm() -> None:
    asked = []

    def holds(k: int, which: Any) -> Any:
        asked.append(k)
        return np.full(which.sum(), k <= 1000)

    assert largest(holds, np.array([True]), 10**6).tolist() == [1000]
    assert len(asked) <= 20
