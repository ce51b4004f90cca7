"""Numbers of a promise as people read them: an ε or a δ is rounded up, so that no digit promises too much.

Files keep all digits.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def round_up(value: float, places: int = 4) -> str:
    """The value with so many decimals, never below it.

    >>> round_up(5.09801), round_up(2.0), round_up(0.28), round_up(math.inf)
    ('5.0981', '2.0000', '0.2800', 'inf')
    """
    if not math.isfinite(value):
        return str(value)
    # Of its shortest text: 0.28 is what was meant, though the float next to it is a little larger.
    exact = Decimal(repr(float(value)))
    return f"{exact.quantize(Decimal(1).scaleb(-places), ROUND_CEILING, _EXACT):f}"


def round_up_digits(value: float, digits: int = 4) -> str:
    """The value with so many digits that count, as ``%g`` writes it, never below it.

    >>> round_up_digits(1234567.0), round_up_digits(0.00294352), round_up_digits(1e-5), round_up_digits(12.0)
    ('1.235e+06', '0.002944', '1e-05', '12')
    """
    if not math.isfinite(value):
        return str(value)
    exact = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(value)))
    return f"{float(exact):.{digits}g}"


def epsilon_text(epsilon: float) -> str:
    """ε with four decimals, as the papers print it, rounded up; of what protects nobody its size is enough.

    >>> epsilon_text(0.28076), epsilon_text(2837987.5)
    ('0.2808', '2.84e+06')
    """
    return round_up(epsilon) if epsilon < 1e6 else round_up_digits(epsilon, 3)


def delta_text(delta: float) -> str:
    """δ with six digits that count, rounded up.

    >>> delta_text(1e-5), delta_text(100**-1.1)
    ('1e-05', '0.00630958')
    """
    return round_up_digits(delta, 6)


def percent_down(share: float, places: int = 2) -> str:
    """A share that is certified, in percent, never above it.

    >>> percent_down(0.84996), percent_down(1.0), percent_down(0.99999)
    ('84.99%', '100.00%', '99.99%')
    """
    exact = Decimal(repr(float(share))) * 100
    return f"{exact.quantize(Decimal(1).scaleb(-places), ROUND_FLOOR, _EXACT):f}%"


# Enough digits for any float with any number of decimals that is printed here.
_EXACT = Context(prec=400)
