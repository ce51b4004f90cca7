from __future__ import annotations

import numpy as np
import pytest

from fedward.auditing.always_drawn import AlwaysDrawn
from fedward.core.types import Sampler
from fedward.sampling import FixedSizeSampler, PoissonSampler


@pytest.mark.parametrize("inner", [PoissonSampler(rate=0.3), FixedSizeSampler(size=4)])
def test_the_users_are_in_every_cohort_and_an_exact_one_keeps_its_size(inner: Sampler) -> None:
    sampler, rng = AlwaysDrawn(sampler=inner, users=(2, 9)), np.random.default_rng(0)
    for _ in range(50):
        cohort = sampler.draw(10, rng).tolist()
        assert {2, 9} <= set(cohort)
        assert cohort == sorted(set(cohort))
        assert len(cohort) == 4 or not sampler.exact


def test_it_promises_what_the_other_sampler_does() -> None:
    inner = PoissonSampler(rate=0.3)
    sampler = AlwaysDrawn(sampler=inner, users=(0,))
    assert (sampler.adjacency, sampler.staged, sampler.declares_size) == ("add/remove", None, False)
    assert sampler.expected_size(10) == inner.expected_size(10)
