"""Strategies and ε of banded noise beside those of jax-privacy, which runs in a Python of its own.

    python benchmarks/banded_noise.py --jax-python PATH   # a Python that has jax-privacy

Of each number of rounds and bands: the error of the best banded Toeplitz strategy by both, the largest
difference of their coefficients, and ε of amplified training at δ = 1e-5. It ends with 1 if one of them
differs by more than 1e-6.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent

from fedward.mechanisms.banded_strategy import Workload, optimise_bands, root_mean_error
from fedward.privacy.accountants import epsilon_of

GRID = tuple((rounds, bands) for rounds in (16, 64, 256, 1000) for bands in (1, 2, 4, 8, 16))
RATE, NOISE, DELTA = 0.2, 3.0, 1e-5

THEIRS = """
import json, sys
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
from dp_accounting import pld
from jax_privacy.matrix_factorization import toeplitz
from jax_privacy.experimental import accounting
rate, noise, delta, grid = json.loads(sys.argv[1])
found = []
for rounds, bands in grid:
    c = np.asarray(toeplitz.optimize_banded_toeplitz(n=rounds, bands=bands), dtype=np.float64)
    event = accounting.amplified_bandmf_event(
        noise_multiplier=noise, iterations=rounds, num_bands=bands, sampling_prob=rate)
    accountant = pld.PLDAccountant()
    accountant.compose(event)
    found.append([c.tolist(), accountant.get_epsilon(delta)])
print(json.dumps(found))
"""


def our_epsilon(rounds: int, bands: int) -> float:
    once = PoissonSampledDpEvent(RATE, GaussianDpEvent(NOISE))
    event = SelfComposedDpEvent(once, -(-rounds // bands))
    return epsilon_of([(event, 1)], DELTA, "pld", "add/remove")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jax-python", required=True, help="a Python that has jax-privacy")
    command = [parser.parse_args().jax_python, "-c", THEIRS, json.dumps([RATE, NOISE, DELTA, GRID])]
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(f"{'rounds':>7}{'bands':>6}{'our error':>12}{'theirs':>12}{'relative':>11}{'coefficients':>14}"
          f"{'our ε':>12}{'theirs':>12}")  # fmt: skip
    bad = 0
    for (rounds, bands), (c, epsilon) in zip(GRID, theirs, strict=True):
        ours = optimise_bands(Workload(rounds=rounds), bands)
        scaled = tuple(each / c[0] for each in c)
        error, their_error = (root_mean_error(Workload(rounds=rounds), each) for each in (ours, scaled))
        off = error / their_error - 1
        apart = max(abs(a - b) for a, b in zip(ours, scaled, strict=True))
        our_ε = our_epsilon(rounds, bands)
        bad += abs(off) > 1e-6 or apart > 1e-6 or abs(our_ε - epsilon) > 1e-6
        print(
            f"{rounds:7}{bands:6}{error:12.6f}{their_error:12.6f}{off:11.1e}{apart:14.1e}"
            f"{our_ε:12.7f}{epsilon:12.7f}"
        )
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
