"""The number of guesses of a one-run audit: fixed before the training, by what the claim says it will see."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedward.auditing.one_run_bound import one_run_epsilon, right_guesses
from fedward.auditing.round_law import RoundLaw

_SHARES = (0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4)
_TIMES = 6


def plan_guesses(laws: Sequence[RoundLaw], canaries: int, delta: float, error: float) -> int:
    """How many canaries are called in, and as many out, so that the bound is largest if the claim is right.

    Without a law a tenth of each.

    >>> plan_guesses([RoundLaw(rate=1.0, times=1, std=1.0)], 100, 1e-5, 0.05)
    20
    """
    usual = max(1, canaries // 10)
    if not laws:
        return usual
    rng = np.random.default_rng(0)
    truth = np.arange(canaries) % 2 == 0
    counts = sorted({max(1, int(share * canaries)) for share in _SHARES})
    found = np.zeros(len(counts))
    for _ in range(_TIMES):
        scores = np.zeros(canaries)
        for law in laws:
            inside, outside = law.draw(True, canaries, rng), law.draw(False, canaries, rng)
            scores += law.log_ratio(np.where(truth, inside, outside))
        for place, count in enumerate(counts):
            right = right_guesses(scores, truth, count, count)
            found[place] += one_run_epsilon(canaries, 2 * count, right, delta, error)
    return counts[int(np.argmax(found))] if found.max() > 0 else usual
