from __future__ import annotations

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent

from fedward.auditing.foreign_trainings import audit_trainings
from fedward.auditing.noise_family import NoiseFamily
from fedward.auditing.round_law import RoundLaw
from fedward.auditing.seen_trainings import SeenTrainings
from fedward.base.validate import InvalidValue

FAMILY = NoiseFamily.of([(GaussianDpEvent(1.0), 1)], "add/remove", 1e-5)


def seen(count: int, noise: float) -> SeenTrainings:
    rng, inside = np.random.default_rng(4), np.arange(count) % 2 == 0
    return SeenTrainings(
        inside=inside, tables={"x": inside[:, None] + noise * rng.standard_normal((count, 1))}
    )


@pytest.mark.parametrize(("noise", "verdict"), [(1.0, "no violation"), (0.5, "violation")])
def test_trainings_of_others_are_judged(noise: float, verdict: str) -> None:
    found = audit_trainings(seen(1600, noise), FAMILY, (RoundLaw(rate=1.0, times=1, std=1.0),))
    assert found.verdict == verdict
    assert found.judged == 800
    assert found.lower_bound == max(found.by_rates, found.by_family)


def test_too_few_are_refused() -> None:
    with pytest.raises(InvalidValue, match="at least 100"):
        audit_trainings(seen(99, 1.0), FAMILY)
