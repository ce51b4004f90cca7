"""The confidence level 1 - error as text, with all of its digits."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal

# More digits than any error that is meant; what still does not fit is rounded down.
_FIGURES = Context(prec=50, rounding=ROUND_FLOOR)


def level(error: float) -> str:
    """1 - error with all of its digits: rounded it may be more than there is, and in the end certainty.

    >>> level(0.01), level(1e-7)
    ('0.99', '0.9999999')
    """
    return f"{_complement(error):f}"


def percentage(error: float) -> str:
    """The same in percent.

    >>> percentage(0.01), percentage(0.012)
    ('99', '98.8')
    """
    found = f"{_FIGURES.multiply(Decimal(100), _complement(error)):f}"
    return found.rstrip("0").rstrip(".") if "." in found else found


def _complement(error: float) -> Decimal:
    return _FIGURES.subtract(Decimal(1), Decimal(repr(float(error))))
