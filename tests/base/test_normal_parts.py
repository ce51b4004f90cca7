"""Normal numbers that several threads draw: the bits of one, and the stream where it would stand."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from fedward.base import normal_parts as module
from fedward.base.normal_parts import PART, normal_parts
from fedward.base.randomness import stream


def philox(key: int = 5) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=key))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("size", [0, 1, PART, 2 * PART, 5 * PART + 17])
def test_parts_have_the_bits_of_one_draw_for_any_number_of_threads(size: int, threads: int) -> None:
    rng, alone = stream(1, "noise", replica=0, round=3), stream(1, "noise", replica=0, round=3)
    drawn = [*normal_parts(rng, size, threads), np.empty(0)]
    assert np.array_equal(np.concatenate(drawn), alone.standard_normal(size))
    assert np.array_equal(rng.integers(1 << 62, size=5), alone.integers(1 << 62, size=5))


@pytest.mark.parametrize("before", range(1, 9))
def test_a_stream_that_was_read_before_goes_on_from_there(before: int) -> None:
    rng, alone = philox(), philox()
    for each in (rng, alone):
        each.integers(1 << 62, size=before)
        each.integers(1 << 30, size=1, dtype=np.uint32)  # leaves half a word
    drawn = list(normal_parts(rng, 3 * PART, 2))
    assert np.array_equal(np.concatenate(drawn), alone.standard_normal(3 * PART))
    assert np.array_equal(
        rng.integers(1 << 30, size=3, dtype=np.uint32), alone.integers(1 << 30, size=3, dtype=np.uint32)
    )


def test_parts_that_begin_within_a_number_are_joined_to_the_same_bits() -> None:
    """Short parts, so that thousands begin: one in a hundred within a number that took several words."""
    joins = mock.Mock(wraps=module._joined)
    with mock.patch.object(module, "PART", 64), mock.patch.object(module, "_joined", joins):
        for key in range(4):
            rng, alone = philox(key), philox(key)
            drawn = list(normal_parts(rng, 64 * 1500, 3))
            assert np.array_equal(np.concatenate(drawn), alone.standard_normal(64 * 1500))
    assert joins.call_count > 20


def test_parts_that_never_agree_are_drawn_again() -> None:
    with mock.patch.object(module, "PART", 4):
        rng, alone = philox(), philox()
        drawn = list(normal_parts(rng, 4 * 3000, 2))
        assert np.array_equal(np.concatenate(drawn), alone.standard_normal(4 * 3000))


def test_another_generator_is_drawn_from_as_ever() -> None:
    rng, alone = np.random.default_rng(1), np.random.default_rng(1)
    drawn = list(normal_parts(rng, 2 * PART + 3, 4))
    assert np.array_equal(np.concatenate(drawn), alone.standard_normal(2 * PART + 3))


def test_whoever_stops_early_leaves_no_thread_behind() -> None:
    import threading

    before = threading.active_count()
    parts = normal_parts(philox(), 8 * PART, 3)
    next(parts)
    parts.close()  # type: ignore[attr-defined]
    assert threading.active_count() == before
