"""Standard normal numbers of a stream, drawn by several threads: bit for bit those that one would draw.

A stream (Philox) is a row of 64-bit words that can be read from any place. A normal number takes one word,
now and then more, so nobody knows where the thousandth begins; but wherever a thread begins, after a few
numbers it begins them where everybody else does. So each thread draws from a place of its own to that of the
next. Where the thread before ends on that place, the numbers follow each other as they are; otherwise the few
until both agree are drawn again. What is compared is places: of the state of a stream nothing else moves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np

Normals = np.ndarray[tuple[int], np.dtype[np.float64]]

PART = 1 << 18
"""Words of a part: some milliseconds."""


def normal_parts(rng: np.random.Generator, size: int, threads: int) -> Iterator[Normals]:
    """The numbers of ``rng.standard_normal(size)`` in parts, one after the other; nobody else keeps them.

    Once all are taken the stream stands where it would.

    >>> once, again = (np.random.Generator(np.random.Philox(key=5)) for _ in range(2))
    >>> parts = list(normal_parts(once, 2 * PART + 1, threads=2))
    >>> bool((np.concatenate(parts) == again.standard_normal(2 * PART + 1)).all())
    True
    >>> float(once.normal()) == float(again.normal())
    True
    """
    if threads > 1 and size >= 2 * PART and type(rng.bit_generator) is np.random.Philox:
        for part in _side_by_side(rng, size // PART, threads):
            size -= len(part)
            yield part
            del part
    while size > 0:
        yield rng.standard_normal(some := min(size, PART))
        size -= some


def _side_by_side(rng: np.random.Generator, count: int, threads: int) -> Iterator[Normals]:
    """So many parts, which are no more numbers than words; then the stream stands behind them."""
    key = rng.bit_generator.state["state"]["key"]
    place = _place(rng)
    ends = [place + PART * (number + 1) & ~3 for number in range(count)]
    spans = zip([place, *ends[:-1]], ends, strict=True)
    ahead: deque[tuple[int, int, Future[tuple[Normals, int]]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            while True:
                for start, end in islice(spans, threads + 1 - len(ahead)):
                    ahead.append((start, end, pool.submit(_draw, key, start, end)))
                if not ahead:
                    break
                start, end, drawn = ahead.popleft()
                part, reached = drawn.result()
                del drawn
                if start != place:
                    part, reached = _joined(key, place, start, end, part, reached)
                place = reached
                yield part
                del part
        finally:
            for *_, waiting in ahead:
                waiting.cancel()
    _move(rng, key, place)


def _draw(key: Any, start: int, end: int) -> tuple[Normals, int]:
    """The numbers from a place until one ends at or beyond another, and where it does."""
    rng, found, count = _at(key, start), np.empty(max(0, end - start) + 1), 0
    while (left := end - _place(rng)) > 0:
        # About 1.1 % of all words are second ones; this ends a little before, and then goes on singly.
        some = max(1, int(0.985 * left) - 6)
        rng.standard_normal(out=found[count : count + some])
        count += some
    return found[:count], _place(rng)


def _joined(key: Any, place: int, start: int, end: int, part: Normals, reached: int) -> tuple[Normals, int]:
    """A part that was drawn from ``start``, as it is drawn from ``place``, a little beyond."""
    right, other = _at(key, place), _at(key, start)
    first: list[float] = []
    left_out = 0
    while (here := _place(right)) != (there := _place(other)):
        if there < here:
            other.standard_normal()
            left_out += 1
        else:
            first.append(right.standard_normal())
        if left_out > len(part) // 2:  # they never agreed: it is drawn again from where it begins
            return _draw(key, place, end)
    return np.concatenate([first, part[left_out:]]), reached


def _place(rng: np.random.Generator) -> int:
    """How many words of the stream have been taken: it makes four at a time."""
    state = rng.bit_generator.state
    steps = sum(int(word) << 64 * number for number, word in enumerate(state["state"]["counter"]))
    return 4 * steps - 4 + int(state["buffer_pos"])


def _at(key: Any, place: int) -> np.random.Generator:
    philox = np.random.Philox(key=key, counter=place // 4)
    philox.random_raw(place % 4)
    return np.random.Generator(philox)


def _move(rng: np.random.Generator, key: Any, place: int) -> None:
    """Lets the stream stand at a place; half a word that it keeps for 32-bit numbers stays."""
    there = dict(_at(key, place).bit_generator.state)
    kept = rng.bit_generator.state
    rng.bit_generator.state = {**there, **{name: kept[name] for name in ("has_uint32", "uinteger")}}
