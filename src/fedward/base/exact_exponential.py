"""The exponential function between two integers, and coins that fall with probabilities of it: no rounding.

Floating point does not come in anywhere. A coin compares a uniform number, of which as many bits are drawn as
the comparison needs, with integers that the true probability lies between.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from fractions import Fraction

Bytes = Callable[[int], bytes]
"""A source of uniform bytes, so many at a time; ``secrets.token_bytes`` in production."""

# Bits that are worked with beyond those that are asked for.
_GUARD = 40
# Bits of a uniform number that are drawn at a time.
_BITS = 64


def exponential_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Two integers next to each other, or nearly, with 2^bits e^-x between them.

        lower <= 2^bits e^-x <= upper

    Proof: with m halvings t = x / 2^m is at most 1/2, and an integer of ``bits`` + guard bits below and one
    above it are known. e^t is the sum of t^k / k!, all terms positive: the lower sum rounds each term down
    and stops anywhere, the upper one rounds up and adds its last term once more, which is at least all that
    follow it (each is less than half of the one before). m squarings, rounded down and up, give e^x, and one
    division e^-x.

    Args:
      x: at least 0.
      bits: precision of the result.

    >>> exponential_bounds(Fraction(0), 8)
    (256, 256)
    >>> lower, upper = exponential_bounds(Fraction(1), 40)
    >>> upper - lower, lower / 2**40
    (1, 0.3678794411707713)
    """
    if x < 0:
        raise ValueError(f"x must be at least 0, got {x}")
    if x == 0:
        return 1 << bits, 1 << bits
    top, bottom = x.numerator, x.denominator
    halvings = max(0, (2 * top // bottom).bit_length())
    # e^x takes up to 1.5 x bits before the point, which the division needs after it.
    places = bits + _GUARD + halvings
    one = 1 << places
    low = (top << places) // (bottom << halvings)
    lower, upper = _exponential(low, places, up=False), _exponential(low + 1, places, up=True)
    for _ in range(halvings):
        lower, upper = lower * lower >> places, -(-upper * upper >> places)
    return (one << bits) // upper, -(-(one << bits) // lower)


def _exponential(t: int, places: int, *, up: bool) -> int:
    """2^places e^(t / 2^places), rounded down or up, for t / 2^places slightly above 1/2 at most."""
    total = term = 1 << places
    k = 0
    while term > 1:
        k += 1
        product, divisor = term * t, k << places
        term = -(-product // divisor) if up else product // divisor
        total += term
    return total + term if up else total


class Uniform:
    """A uniform number in [0, 1) of which only the first bits are drawn, and more when they are needed.

    Args:
      prefix: its first bits, where some were drawn before.
      bits: how many these are.
      draw: where further ones come from.

    >>> half = Uniform(prefix=0b01, bits=2)
    >>> half.below(lambda bits: (1 << bits - 1, 1 << bits - 1))
    True
    """

    def __init__(self, prefix: int = 0, bits: int = 0, draw: Bytes = secrets.token_bytes) -> None:
        self._prefix, self._bits, self._draw = prefix, bits, draw

    def below(self, bounds: Callable[[int], tuple[int, int]]) -> bool:
        """Whether it is below a real number p; ``bounds(bits)`` are integers with 2^bits p between them.

        Exact: it is decided only by bits that decide it, and true with probability p.
        """
        while True:
            if self._bits:
                lower, upper = bounds(self._bits)
                if self._prefix + 1 <= lower:
                    return True
                if self._prefix >= upper:
                    return False
            more = int.from_bytes(self._draw(_BITS // 8), "big")
            self._prefix, self._bits = self._prefix << _BITS | more, self._bits + _BITS


def exponential_coin(x: Fraction, uniform: Uniform, factor: Fraction = Fraction(1)) -> bool:
    """Whether a uniform number is below factor e^-x: true with exactly this probability.

    >>> exponential_coin(Fraction(0), Uniform())
    True
    """

    def bounds(bits: int) -> tuple[int, int]:
        more = bits + factor.numerator.bit_length()
        lower, upper = exponential_bounds(x, more)
        top, bottom = factor.numerator, factor.denominator << (more - bits)
        return lower * top // bottom, -(-upper * top // bottom)

    return uniform.below(bounds)
