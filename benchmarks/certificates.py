"""How long certificates take: one answer on one core, and all curves up to k = 40 on two.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/certificates.py

Prints a table of wall-clock and processor seconds. The limits of the project are 15 s for an answer on one
core and 60 s for the curves on two.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent

from fedward.certificates.prediction import certified_k
from fedward.privacy.group import GroupCurve, group_curve


def rounds(q: float, z: float, times: int) -> list[tuple[PoissonSampledDpEvent, int]]:
    return [(PoissonSampledDpEvent(q, GaussianDpEvent(z)), times)]


def curve(k: int) -> GroupCurve:
    return group_curve(rounds(0.1, 3.0, 3), k)


def all_curves(workers: int) -> str:
    with ProcessPoolExecutor(workers) as pool:
        return f"{len(list(pool.map(curve, range(1, 41))))} curves"


def answer(q: float, z: float, times: int, top: float, threat: str) -> str:
    return f"k = {int(certified_k(top, 1 - top, rounds(q, z, times), threat))}"


def decaying_noise() -> str:
    events = [(PoissonSampledDpEvent(0.1, GaussianDpEvent(3.0 + 0.01 * t)), 1) for t in range(100)]
    return f"k = {int(certified_k(0.95, 0.05, events, 'inject'))}"


def test_set() -> str:
    top = np.random.default_rng(0).uniform(0.5, 0.95, 2115)
    found = certified_k(top, 1 - top, rounds(0.1, 3.0, 3), "inject")
    return f"median k = {int(np.median(found))} of {len(found)}"


CASES: dict[str, Callable[[], str]] = {
    "q = 0.1, σ = 3, T = 3, top 0.8, inject": partial(answer, 0.1, 3.0, 3, 0.8, "inject"),
    "q = 0.1, σ = 3, T = 3, top 0.8, compromise": partial(answer, 0.1, 3.0, 3, 0.8, "compromise"),
    "q = 0.1, σ = 3, T = 3, top 0.95, inject": partial(answer, 0.1, 3.0, 3, 0.95, "inject"),
    "q = 0.1, σ = 3, T = 3, top 0.95, compromise": partial(answer, 0.1, 3.0, 3, 0.95, "compromise"),
    "q = 0.05, σ = 8, T = 100, top 0.95, inject": partial(answer, 0.05, 8.0, 100, 0.95, "inject"),
    "q = 0.2, σ = 4, T = 300, top 0.99, inject": partial(answer, 0.2, 4.0, 300, 0.99, "inject"),
    "q = 0.01, σ = 1, T = 10000, top 0.99, inject": partial(answer, 0.01, 1.0, 10_000, 0.99, "inject"),
    "q = 0.01, σ = 20, T = 1, top 0.99, inject": partial(answer, 0.01, 20.0, 1, 0.99, "inject"),
    "100 rounds that all differ, top 0.95, inject": decaying_noise,
    "2115 test examples at once, inject": test_set,
    "curves for k = 1 to 40, one process": partial(all_curves, 1),
    "curves for k = 1 to 40, two processes": partial(all_curves, 2),
}


def main() -> None:
    print(f"{'case':<48} {'result':<24} {'wall s':>8} {'cpu s':>8}")
    for name, case in CASES.items():
        wall, cpu = time.perf_counter(), time.process_time()
        result = case()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"{name:<48} {result:<24} {wall:8.2f} {cpu:8.2f}")


if __name__ == "__main__":
    main()
