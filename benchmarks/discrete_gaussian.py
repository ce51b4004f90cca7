"""Numbers a second of the exact sampler, on one core, beside floating-point noise and OpenDP's sampler.

    python benchmarks/discrete_gaussian.py
    pip install opendp      # for its row; not needed otherwise

A row has the median of the CPU seconds of several turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from fedward.base.discrete_gaussian import DiscreteGaussian, round_up
from fedward.base.randomness import system_normal

COUNT, TURNS = 2_000_000, 5
DEVIATIONS = (2**2, 2**10, 2**20, 2**26, 2**30)


def rate(draw: Callable[[int], Any], count: int) -> float:
    """Millions of numbers a CPU second."""
    draw(100)
    seconds = []
    for _ in range(TURNS):
        before = time.process_time()
        draw(count)
        seconds.append(time.process_time() - before)
    return count / statistics.median(seconds) / 1e6


def main() -> None:
    print(f"{'Box-Muller, floating point':<40}{rate(system_normal, COUNT):8.2f} million a second")
    for deviation in DEVIATIONS:
        law = DiscreteGaussian(twice_variance=round_up(2 * deviation**2))
        print(f"{f'exact, σ = {deviation:,}':<40}{rate(law.sample, COUNT):8.2f} million a second")
    try:
        import opendp.prelude as dp  # type: ignore[import-not-found]
    except ImportError:
        print("OpenDP is not installed")
        return
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    theirs = dp.m.make_gaussian(*space, scale=float(2**20))
    print(f"{'OpenDP, σ = 1,048,576':<40}{rate(lambda n: theirs([0] * n), 20_000):8.2f} million a second")


if __name__ == "__main__":
    main()
