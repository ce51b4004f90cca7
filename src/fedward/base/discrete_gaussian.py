"""An exact sampler of the discrete Gaussian: integers, drawn and compared by integers alone."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from fedward.base.exact_exponential import Bytes, Uniform, exponential_bounds, exponential_coin
from fedward.base.validate import InvalidValue, whole

Integers = np.ndarray[Any, np.dtype[np.int64]]

# Blocks in one standard deviation, and how many standard deviations lie in blocks; the rest is the tail.
_BLOCKS, _REACH = 64, 9
# Bits of the number that chooses a block, and of the uniform number that decides at first.
_CHOOSE, _DECIDE = 62, 32
# Numbers that are drawn at once: it bounds memory.
_CHUNK = 1 << 18
# D = 2 σ² has so many digits that count, so that quotients by it fit into 64 bits.
_DIGITS = 31
LARGEST = 1 << 62


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussian:
    """The discrete Gaussian on the integers.

        P(y) = e^(-y² / D) / Σ_k e^(-k² / D),    D = 2 σ²

    Guarantee: exactly this law, if bytes are uniform and independent. Proof: a trial first draws a block
    [w i, w i + w) with probability W_i / 2^62, where W_i is an integer of at least a_i = A e^(-(w i)² / D),
    and keeps it with probability a_i / W_i; then y in the block with probability 1/w, a sign with 1/2, and
    keeps y with probability e^(-(y² - (w i)²) / D). The product is A e^(-y² / D) / (2^63 w), the same
    constant for all y, and -0 is thrown away. In the tail, from R on, block g has the width L and the weight
    W 2^-(g+1) of a W of at least 2 A (L / w) e^(-R² / D), and y is kept with what makes the product the same;
    this is at most 1 since e^(-(y² - R²) / D) is at most 2^-g there.

    Every "with probability e^-x" is decided without rounding: with x between the integers X and X + 1 and a
    uniform number between v and v + 1, in units of 2^-32, 1 - x <= e^-x <= 1 - x + x²/2 decides all but one
    of 10,000 times, in 64-bit integers; the others are decided by more bits of both (``Uniform``).

    Args:
      twice_variance: D, at most 2^62. It must have at most 31 binary digits that count: ``round_up``.

    >>> law = DiscreteGaussian(twice_variance=8)
    >>> sorted(set(law.sample(1000).tolist()) & {-1, 0, 1})
    [-1, 0, 1]

    Canonne, Kamath and Steinke 2020 for the law and what it guarantees; blocks in the place of their
    rejection from a discrete Laplace law, so that all steps but the rarest work on whole arrays.
    """

    twice_variance: int

    def __post_init__(self) -> None:
        whole("twice the variance", self.twice_variance, at_least=8)
        if self.twice_variance > LARGEST:
            raise InvalidValue(f"twice the variance must be at most 2^62, got {self.twice_variance}")
        if round_up(self.twice_variance) != self.twice_variance:
            raise InvalidValue(
                f"twice the variance must have at most {_DIGITS} binary digits that count, got "
                f"{self.twice_variance}"
            )

    def sample(self, size: int, draw: Bytes = secrets.token_bytes) -> Integers:
        """So many independent numbers of it, as int64.

        Args:
          draw: the source of uniform bytes: the operating system's, or one that a test can repeat.
        """
        numbers = np.empty(whole("size", size, at_least=0), dtype=np.int64)
        done = 0
        while done < size:
            some = self._trials(min(_CHUNK, math.ceil((size - done) * 1.05) + 16), draw)
            some = some[: size - done]
            numbers[done : done + len(some)] = some
            done += len(some)
        return numbers

    @cached_property
    def _table(self) -> _Table:
        return _table(self.twice_variance)

    def _trials(self, count: int, draw: Bytes) -> Integers:
        """The numbers that so many trials keep, in order."""
        table = self._table
        words = np.frombuffer(draw(8 * count), dtype=np.uint64)
        chosen, negative = words >> np.uint64(2), (words & np.uint64(1)).astype(bool)
        block = np.searchsorted(table.ends, chosen, side="right")
        within = _low_bits(draw, count, table.width_bits)
        uniform = np.frombuffer(draw(4 * count), dtype=np.uint32).astype(np.uint64)
        inside = block < table.blocks
        # What is not in a block is decided below, or was chosen beyond the last weight: it is no number then.
        block = np.where(inside, block, 0).astype(np.uint64)
        edge = block << np.uint64(table.width_bits)
        y = edge + within
        # y² - edge², and with it x: below a sixth in every block.
        x = self._in_units(within * (edge + y))
        most = np.uint64(1 << _DECIDE)
        kept = inside & (uniform + x + np.uint64(2) <= most)
        unsure = inside & ~kept & (uniform + x < most + (x * x >> np.uint64(_DECIDE + 1)) + np.uint64(1))
        # An offset in its block's weight that may lie above the true one.
        unsure |= inside & (chosen >= table.certain[block.astype(np.int64)])
        number = np.where(negative, -y.astype(np.int64), y.astype(np.int64))
        for place in np.flatnonzero(unsure):
            about = (int(values[place]) for values in (chosen, block, within, uniform))
            kept[place] = self._decide(draw, *about)
        for place in np.flatnonzero(~inside & (chosen < np.uint64(table.total))):
            far = self._in_tail(draw)
            kept[place] = far is not None
            number[place] = 0 if far is None else (-far if negative[place] else far)
        kept &= ~(negative & (number == 0))
        return number[kept]

    def _in_units(self, x: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """The largest integers of at most 2^32 x / D, for an x of at most D / 6; nothing overflows."""
        shift = max(0, self.twice_variance.bit_length() - _DIGITS)
        divisor = np.uint64(self.twice_variance >> shift)
        # Only zeros of D were taken away.
        return np.asarray((x << np.uint64(_DECIDE - shift)) // divisor)

    def _decide(self, draw: Bytes, chosen: int, block: int, within: int, uniform: int) -> bool:
        """The same as the trial's decision, by as many bits as it takes."""
        table = self._table
        edge = block << table.width_bits
        offset = chosen - (int(table.ends[block - 1]) if block else 0)
        if not _below_weight(table.height, Fraction(edge * edge, self.twice_variance), offset, draw):
            return False
        x = Fraction(within * (2 * edge + within), self.twice_variance)
        return exponential_coin(x, Uniform(uniform, _DECIDE, draw))

    def _in_tail(self, draw: Bytes) -> int | None:
        """A number that the tail keeps; None if it keeps none."""
        table = self._table
        far = 0
        while draw(1)[0] & 1:
            far += 1
        within = int(_low_bits(draw, 1, table.tail_bits)[0])
        y = table.start + (far << table.tail_bits) + within
        factor = Fraction(table.height << (far + 1 + table.tail_bits - table.width_bits), table.tail_weight)
        return (
            y if exponential_coin(Fraction(y * y, self.twice_variance), Uniform(draw=draw), factor) else None
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Table:
    """Blocks of a law: where each ends among 62-bit numbers, and up to where it is surely kept."""

    width_bits: int
    tail_bits: int
    height: int
    ends: np.ndarray[Any, np.dtype[np.uint64]]
    certain: np.ndarray[Any, np.dtype[np.uint64]]
    start: int
    tail_weight: int

    @property
    def blocks(self) -> int:
        return len(self.ends)

    @property
    def total(self) -> int:
        return int(self.ends[-1]) + self.tail_weight


@lru_cache(maxsize=16)
def _table(twice_variance: int) -> _Table:
    deviation = math.isqrt(twice_variance // 2)
    width_bits = max(0, (deviation // _BLOCKS).bit_length() - 1)
    # At least half a standard deviation, so that the tail's weights fall by half a block and more.
    tail_bits = max(deviation.bit_length() - 1, width_bits)
    width, tail_width = 1 << width_bits, 1 << tail_bits
    blocks = -(-_REACH * (deviation + 1) // width)
    edges = [Fraction((i * width) ** 2, twice_variance) for i in range(blocks)]
    start = blocks * width
    end = Fraction(start * start, twice_variance)
    # The height is the largest that leaves room for all weights, rounded up.
    share = sum(exponential_bounds(edge, _DECIDE)[1] for edge in edges)
    share += exponential_bounds(end, _DECIDE)[1] << (1 + tail_bits - width_bits)
    height = ((1 << _CHOOSE) - blocks - 2 << _DECIDE) // share
    weights = [_weight(height, edge) for edge in edges]
    tail = _weight(height << (1 + tail_bits - width_bits), end)
    ends = np.cumsum(np.array([upper for _, upper in weights], dtype=np.uint64))
    begins = np.concatenate([np.zeros(1, dtype=np.uint64), ends[:-1]])
    table = _Table(
        width_bits=width_bits,
        tail_bits=tail_bits,
        height=height,
        ends=ends,
        certain=begins + np.array([lower for lower, _ in weights], dtype=np.uint64),
        start=start,
        tail_weight=tail[1],
    )
    # (y² - R²) / D is at least g log 2 in block g of the tail: 2 R L >= 0.7 D is enough.
    if table.total > 1 << _CHOOSE or 20 * start * tail_width < 7 * twice_variance:
        raise AssertionError("the weights of a discrete Gaussian do not fit")
    return table


def _weight(height: int, x: Fraction) -> tuple[int, int]:
    """Integers with height e^-x between them."""
    lower, upper = exponential_bounds(x, 2 * _CHOOSE)
    return height * lower >> 2 * _CHOOSE, -(-height * upper >> 2 * _CHOOSE)


def _below_weight(height: int, x: Fraction, offset: int, draw: Bytes) -> bool:
    """Whether ``offset`` and a uniform rest are below height e^-x."""
    lower, upper = _weight(height, x)
    if offset + 1 <= lower:
        return True

    def bounds(bits: int) -> tuple[int, int]:
        more = bits + 2 * _CHOOSE
        lower, upper = exponential_bounds(x, more)
        low, high = height * lower >> more - bits, -(-height * upper >> more - bits)
        return low - (offset << bits), high - (offset << bits)

    return offset < upper and Uniform(draw=draw).below(bounds)


def _low_bits(draw: Bytes, count: int, bits: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """So many uniform integers of that many bits."""
    if bits == 0:
        return np.zeros(count, dtype=np.uint64)
    kind = np.uint32 if bits <= 32 else np.uint64
    words = np.frombuffer(draw(count * kind().itemsize), dtype=kind).astype(np.uint64)
    return words & np.uint64((1 << bits) - 1)


def round_up(twice_variance: int) -> int:
    """The least D of at least this that has no more binary digits than count.

    >>> round_up(9), round_up(2**40 + 1) == 2**40 + 2**10
    (9, True)
    """
    zeros = max(0, twice_variance.bit_length() - _DIGITS)
    rounded = -(-twice_variance >> zeros) << zeros
    return rounded if rounded.bit_length() - zeros <= _DIGITS else round_up(rounded)
