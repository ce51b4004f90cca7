"""The lower bound on ε that two error rates prove by themselves."""

from __future__ import annotations

import math

from fedward.base.validate import InvalidValue


def least_epsilon(fpr: float, fnr: float, delta: float) -> float:
    """The least ε for which a test with these error rates can exist, at this δ.

        ε ≥ log max((1 - δ - FNR) / FPR, (1 - δ - FPR) / FNR)

    Guarantee: if the true rates are no larger, no (ε, δ)-private mechanism with a smaller ε allows the test.
    It assumes nothing about the mechanism.

    >>> round(least_epsilon(0.01, 0.5, 1e-5), 3)
    3.912
    >>> least_epsilon(0.6, 0.6, 1e-5)
    0.0

    Kairouz, Oh and Viswanath 2015; Nasr et al. 2021.
    """
    for name, rate in (("false positive rate", fpr), ("false negative rate", fnr)):
        if not 0 <= rate <= 1:
            raise InvalidValue(f"{name} must be from 0 to 1, got {rate}")
    found = 0.0
    for above, below in ((1 - delta - fnr, fpr), (1 - delta - fpr, fnr)):
        if above > 0:
            found = max(found, math.inf if below == 0 else math.log(above / below))
    return found
